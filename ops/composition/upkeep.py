"""What ends, fades, merges and expires as time goes by."""

from collections.abc import Mapping
from functools import cached_property

from events.model import Kind, MemoryId
from ops.composition.erasing import Erasing
from projections.follower import Follower
from services.forgetting.forget import Forgetter
from services.forgetting.retention import Retention
from services.governance.policy import shipped_policy
from services.summaries.consolidate import Consolidate
from services.summaries.expiry import SummaryExpiry
from services.tasks.expiry import TaskExpiry
from services.upkeep.expiry import Expiry, Shredder
from services.upkeep.fading import Capacity, Decay
from services.upkeep.fields import Fields
from services.upkeep.leases import Leases
from services.upkeep.merge import Merge, separate
from services.upkeep.round import Round
from services.upkeep.rules import UpkeepRules, shipped_rules
from services.upkeep.tiers import Tiers, Use
from services.upkeep.withdrawal import Withdrawal


class Upkeep(Erasing):
    """What ends, fades, merges and expires as time goes by."""

    @cached_property
    def expiry(self) -> Round:
        """Ends what was kept as long as it may be; looked at all the time."""
        eraser = self.log("eraser")
        return Round(Expiry(eraser, self.settings.message_days), TaskExpiry(eraser), SummaryExpiry(eraser))

    def tidying(self, rules: UpkeepRules | None = None, capacity: Mapping[Kind, int] | None = None) -> Round:
        """What upkeep looks at once a day, in the order in which one job prepares for the next."""
        eraser, rules = self.log("eraser"), rules or shipped_rules()
        forgetter = Forgetter(self.log("appender"), self.log("reader"), self.vault("keeper"))
        pools = (eraser, self.log("appender"), self.log("reader"))
        return Round(
            Withdrawal(eraser, self.vault("eraser"), forgetter),
            Fields(eraser, self.vault("eraser"), shipped_policy().profile),
            Leases(eraser, self.vault("eraser")),
            Use(eraser, rules),
            Consolidate(pools, self.vault("keeper"), rules, self.settings.message_days),
            Decay(eraser, rules),
            Merge(eraser, self.vault("eraser"), rules),
            Capacity(eraser, capacity or shipped_policy().capacity, rules),
            Tiers(eraser, rules),
        )

    async def separate(self, memory: MemoryId) -> None:
        """Let a merged memory stand for itself again."""
        await separate(self.log("eraser"), memory)

    @cached_property
    def retention(self) -> Retention:
        """Ends the record of reads."""
        return Retention(self.log("eraser"), self.settings.read_days)

    @cached_property
    def shredder(self) -> Follower:
        """Destroys what has expired."""
        return Follower(Shredder(self.vault("eraser")), self.log("eraser"))
