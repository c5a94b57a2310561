import email
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml

from cenotaph import boot
from ops.logins import logins_of, role_name, roles_of
from ops.run import ALL_WORKERS
from ops.settings import Settings

ROOT = Path(__file__).parent.parent.parent
PACKAGES = {"events", "ops", "projections", "services", "workers"}
GENERATED = {"__pycache__"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the tree as it is."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wheel puts into site-packages."""
    site = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_nobody_else_provides_our_names() -> None:
    """Another distribution with a package of our name would overwrite ours, or be overwritten."""
    providers = packages_distributions()
    foreign = {name: set(providers.get(name, ())) - {"cenotaph"} for name in PACKAGES | {"cenotaph", "tests"}}
    assert not {name: found for name, found in foreign.items() if found}


def test_the_wheel_adds_only_cenotaph(installed: Path) -> None:
    """Nothing of ours lands at the top of site-packages beside `cenotaph` and its metadata."""
    names = {path.name for path in installed.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"cenotaph"}


def test_the_wheel_bundles_every_file_of_the_server(installed: Path) -> None:
    """Modules, SQL, word lists, dashboards: what the tree has, the bundle has, byte for byte, and nothing generated."""
    for package in PACKAGES:
        tree = {
            path.relative_to(ROOT)
            for path in (ROOT / package).rglob("*")
            if path.is_file() and not GENERATED & set(path.parts)
        }
        bundled = {
            path.relative_to(installed / "cenotaph" / "_app")
            for path in (installed / "cenotaph" / "_app" / package).rglob("*")
            if path.is_file()
        }
        assert bundled == tree
        assert all((installed / "cenotaph" / "_app" / path).read_bytes() == (ROOT / path).read_bytes() for path in tree)


def test_the_wheel_carries_what_the_demo_plays(installed: Path) -> None:
    """The demo finds its conversation under the same path beside `ops` as in the tree; no other test is shipped."""
    bundle = installed / "cenotaph" / "_app"
    shipped = {path.relative_to(bundle).as_posix() for path in (bundle / "tests").rglob("*") if path.is_file()}
    assert shipped == {"tests/golden/conversation.jsonl", "tests/golden/conversation.expect.json"}


def test_the_wheel_carries_types_and_licence(installed: Path) -> None:
    """Callers get checked types, everybody gets the licence."""
    assert (installed / "cenotaph" / "py.typed").is_file()
    (info,) = installed.glob("*.dist-info")
    assert "Apache License" in (info / "licenses" / "LICENSE").read_text(encoding="utf-8")
    metadata = email.message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_command_finds_the_bundle_before_anything_else(installed: Path) -> None:
    """A package `ops` that somebody else installed beside us is not run."""
    (installed / "ops").mkdir(exist_ok=True)
    (installed / "ops" / "__init__.py").write_text("raise SystemExit('the foreign ops was run')\n", encoding="utf-8")
    code = "import sys; from cenotaph.boot import main; sys.argv = ['cenotaph', '--help']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed,
        env={"PYTHONPATH": str(installed), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo" in done.stdout


def test_the_command_without_the_server_says_what_to_install(installed: Path) -> None:
    """After a base install the command names the extra instead of showing a traceback."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from cenotaph.boot import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(installed)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "install cenotaph[server]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fault_of_ours_is_not_taken_for_a_missing_extra(tmp_path: Path) -> None:
    """A module of ours that is missing fails as itself; telling the user to install something would mislead."""
    package = tmp_path / "cenotaph"
    shutil.copytree(ROOT / "cenotaph", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_app" / "ops").mkdir(parents=True)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from cenotaph.boot import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "ModuleNotFoundError: No module named 'ops.cli'" in done.stderr


def test_an_editable_installation_runs_the_tree() -> None:
    """Without a bundle beside it the command takes the folder that holds `cenotaph/`."""
    assert boot.code_root(ROOT / "cenotaph") == ROOT


def test_the_lock_pins_every_requirement_by_hash() -> None:
    """One exact version and at least one hash for each, no address of an index."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = text.replace("\\\n", " ").splitlines()
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[a-z0-9.\-\[\],]+==\S+ ", entry), entry[:60]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry[:60]
    assert "://" not in text
    assert "index" not in text


def test_the_lock_covers_every_declared_requirement() -> None:
    """A requirement added to pyproject.toml without `make lock` is found here, not by a user."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9.\-]+)==", text, flags=re.MULTILINE))
    assert {re.split(r"[\[<>=~!]", one)[0] for one in declared} <= locked


def test_no_tracked_file_names_a_machine() -> None:
    """No home or work folder of a builder, no host of a package index."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],  # noqa: S607 - whichever git the checkout was made with
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    # /home/someone is nobody's; the alternatives are cut so that this file does not contain what it looks for
    folder = re.compile(rb"(?<![\w.\-])/(?:home|work|root|Users)/(?!someone\b)\w")
    hosts = re.compile(rb"py" rb"pi\.org|pythonhos" rb"ted|index" rb"-url[ =]*http|(?:quay|ghcr|gcr|docker)\." rb"io\b")
    found = [
        f"{name}: {match.group().decode()}"
        for name in listed
        if name and (ROOT / name).is_file()
        for match in (folder.search((ROOT / name).read_bytes()) or hosts.search((ROOT / name).read_bytes()),)
        if match
    ]
    assert not found


def compose() -> dict[str, Any]:
    """The compose file, read."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return loaded


def test_compose_sets_only_settings_that_exist() -> None:
    """Every variable of our services is a setting, and none of the four stores is left to the embedded servers."""
    known = {
        str(field.validation_alias or f"{Settings.model_config['env_prefix']}{name}".upper())
        for name, field in Settings.model_fields.items()
    }
    ours = {name: one for name, one in compose()["services"].items() if one["image"] == "cenotaph"}
    assert {"api", "remember"} <= set(ours)
    for name, one in ours.items():
        assert set(one["environment"]) <= known, name
        assert {"DATABASE_URL", "VAULT_URL", "REDIS_URL", "MILVUS_URI"} <= set(one["environment"]), name


def test_compose_values_are_accepted_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the passwords filled in, every service's environment passes the settings' own checks."""
    for one in compose()["services"].values():
        if one["image"] == "cenotaph":
            for name, value in one["environment"].items():
                monkeypatch.setenv(name, re.sub(r"\$\{\w+:\?[^}]*\}", "fake", value))
            assert Settings().milvus_uri == "http://milvus:19530"


def test_compose_gives_every_part_its_own_logins() -> None:
    """Each part holds the passwords of its roles and no other; only `migrate` names the owners of the databases."""
    services = compose()["services"]
    for name, one in services.items():
        if one["image"] != "cenotaph" or name == "migrate":
            continue
        command = one["command"]
        held = logins_of(command[1:] or command)
        wanted = {role_name("log", role) for role in held.log} | {role_name("vault", role) for role in held.vault}
        assert set(one["secrets"]) == wanted, name
        assert "@" not in one["environment"]["DATABASE_URL"] + one["environment"]["VAULT_URL"], name
    assert set(services["migrate"]["secrets"]) == {*roles_of("log"), *roles_of("vault")}


def test_compose_hangs_together() -> None:
    """What a service depends on has a health check, every named volume is declared, only the API is published."""
    parts = compose()
    services = parts["services"]
    for name, one in services.items():
        for other, how in one.get("depends_on", {}).items():
            assert ("healthcheck" in services[other]) == (how["condition"] == "service_healthy"), name
        assert set(one.get("secrets", ())) <= set(parts["secrets"]), name
        assert {volume.partition(":")[0] for volume in one.get("volumes", ())} <= set(parts["volumes"]), name
    assert {name: one["ports"] for name, one in services.items() if "ports" in one} == {"api": ["127.0.0.1:8765:8765"]}
    assert services["log"]["volumes"] != services["vault"]["volumes"]
    workers = [
        name
        for one in services.values()
        if (command := one.get("command", []))[:1] == ["worker"]
        for name in command[1:]
    ]
    assert sorted(workers) == sorted(ALL_WORKERS)
