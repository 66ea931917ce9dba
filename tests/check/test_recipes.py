"""The recipes of docs/check.md are what GitHub and GitLab take, by the schemas that check-jsonschema has of both."""

import re

import children
import pytest
from paths import ROOT

RECIPES = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "check.md").read_text(), re.MULTILINE | re.DOTALL)


def verdict(path, schema):
    return children.python("-m", "check_jsonschema", "--builtin-schema", schema, path, status=None)


@pytest.mark.parametrize(("number", "schema"), [(0, "vendor.github-workflows"), (1, "vendor.gitlab-ci")])
def test_a_recipe_fits_the_schema_and_a_wrong_one_does_not(tmp_path, number, schema):
    path = tmp_path / "recipe.yml"
    path.write_text(RECIPES[number])
    done = verdict(path, schema)
    assert done.returncode == 0, done.stdout + done.stderr
    path.write_text(re.sub(r"^( +)(steps|script):", r"\1\2: {}\n\1others:", RECIPES[number], flags=re.MULTILINE))
    assert verdict(path, schema).returncode == 1


def test_the_options_of_the_recipes_are_there():
    from seismo.cli.check import OPTIONS

    known = {name for option in OPTIONS for name in option.names}
    for recipe in RECIPES:
        (command,) = re.findall(r"seismo check (.*?)\n +bench\.py", recipe, re.DOTALL)
        assert set(re.findall(r"--[a-z]+", command)) <= known
    assert len(RECIPES) == 2
