"""What SECURITY.md, docs/policies.md and the files of a release promise is so."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import rowsparse

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rowsparse"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
#: Modules that make objects of what a file says, and functions that do.
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve"}
UNSAFE_CALLS = {
    *("eval", "exec", "joblib.load", "np.load", "numpy.load", "torch.load", "yaml.load"),
    *("pd.read_pickle", "pandas.read_pickle"),
}
#: Processes of a proof: the file is their own, and the module names the class of an error only.
ALLOWED = {"solvers/proof/workers.py": {"pickle", "joblib.load"}}


def unsafe(source: str) -> set[str]:
    """Unsafe modules that a source imports, and unsafe calls in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & UNSAFE_MODULES
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= ({str(node.module).partition(".")[0]} & UNSAFE_MODULES) | names & UNSAFE_CALLS
        elif isinstance(node, ast.Call):
            found |= {ast.unparse(node.func)} & UNSAFE_CALLS
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False":
                    found.add("allow_pickle")
    return found


def test_no_pickle_is_loaded() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {name: unsafe(path.read_text(encoding="utf-8")) for name, path in sources.items()}
    assert {name: what for name, what in found.items() if what} == ALLOWED


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "from joblib import load",
        "joblib.load(path)",
        "np.load(path, allow_pickle=False)",
        "read(path, allow_pickle=True)",
        "eval(text)",
    ],
)
def test_what_loads_pickles_is_found(line: str) -> None:
    assert unsafe(line)
    assert not unsafe("import json\nread_array(stream, allow_pickle=False)\nmodel.eval()")


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_version_changelog_and_citation_agree() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert sections[1] == rowsparse.__version__
    assert read_yaml(ROOT / "CITATION.cff")["version"] == rowsparse.__version__


def test_licence_and_authors_are_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = read_yaml(ROOT / "CITATION.cff")
    assert citation["license"] == project["license"]
    assert citation["authors"] == project["authors"]


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in read_yaml(workflow)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_targets_and_modules_that_exist(workflow: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert {match[1] for c in commands if (match := re.match(r"make ([a-z-]+)", c))} <= targets
    for name in re.findall(r"python -m (tools\.\w+)", "\n".join(commands)):
        assert (ROOT / f"{name.replace('.', '/')}.py").exists()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_of_a_workflow_have_full_versions(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", name)] == []


def test_the_public_checks_are_those_of_the_repository() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    own = set(re.findall(r"^make ([a-z-]+)", script, re.MULTILINE))
    public = {step.get("run", "") for workflow in WORKFLOWS for step in steps(workflow)}
    assert own
    assert {f"make {target}" for target in own} <= public


def test_the_public_checks_cover_the_versions_and_systems_that_are_supported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = re.findall(r":: (3\.\d+)", "\n".join(project["classifiers"]))
    jobs = read_yaml(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    for name in ("test", "windows"):
        assert set(found) <= set(jobs[name]["strategy"]["matrix"]["python"])
    systems = [*jobs["test"]["strategy"]["matrix"]["os"], jobs["windows"]["runs-on"]]
    assert {system.partition("-")[0] for system in systems} == {"ubuntu", "macos", "windows"}
