"""What the audience sees, and the list of checks the exit code depends on."""

from dataclasses import dataclass, field

from rich.rule import Rule
from rich.text import Text

from ops.cli.output import out


@dataclass(frozen=True, slots=True)
class Check:
    """One statement the demo makes about itself."""

    says: str
    held: bool


@dataclass
class Stage:
    """Prints what happens and remembers which checks held."""

    checks: list[Check] = field(default_factory=list)
    _steps: int = 0

    def step(self, chinese: str, english: str) -> None:
        """Announce the next step."""
        self._steps += 1
        out.print()
        out.print(Rule(Text(f"{self._steps}  {chinese} · {english}", style="bold"), align="left"))

    def say(self, text: str | Text) -> None:
        """Show a line."""
        out.print(text)

    def check(self, says: str, held: object) -> bool:
        """Note whether a statement is true, and show it."""
        check = Check(says, bool(held))
        self.checks.append(check)
        sign = Text.assemble(("  ✔ ", "bold green") if check.held else ("  ✘ ", "bold red"), says)
        out.print(sign)
        return check.held

    @property
    def held(self) -> bool:
        """Say whether everything so far was true."""
        return bool(self.checks) and all(check.held for check in self.checks)
