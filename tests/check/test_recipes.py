"""The recipes of docs/check.md are what GitHub and GitLab take, by the schemas that check-jsonschema has of both."""

import re

import pytest
from check_jsonschema import main
from click.testing import CliRunner
from paths import ROOT

from seismo.cli.check import OPTIONS

RECIPES = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "check.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("number", "schema"), [(0, "vendor.github-workflows"), (1, "vendor.gitlab-ci")])
def test_a_recipe_fits_the_schema_and_a_wrong_one_does_not(tmp_path, number, schema):
    wrong = re.sub(r"^( +)(steps|script):", r"\1\2: {}\n\1others:", RECIPES[number], flags=re.MULTILINE)
    for status, text in enumerate((RECIPES[number], wrong)):
        path = tmp_path / f"recipe-{status}.yml"
        path.write_text(text)
        done = CliRunner().invoke(main, ["--builtin-schema", schema, str(path)])
        assert done.exit_code == status, done.output


def test_the_options_of_the_recipes_are_there():
    known = {name for option in OPTIONS for name in option.names}
    for recipe in RECIPES:
        (command,) = re.findall(r"seismo check (.*?)\n +bench\.py", recipe, re.DOTALL)
        assert set(re.findall(r"--[a-z]+", command)) <= known
    assert len(RECIPES) == 2
