"""What a page carries: read back as the other side reads it, and nothing in it that a browser could take for markup."""

import json
import re

import pytest
from page_data import unpacked
from paths import ROOT

from seismo.report.page.payload import LONGEST, counts, doubles, packed, shown, singles


def test_columns_come_back():
    columns = {
        "small": counts([0, 255]),
        "middle": counts([65_535, 1]),
        "large": counts([2**32 - 1, 3]),
        "huge": counts([2**50 + 1, 3]),
        "times": doubles([0.1, 1e300]),
        "single": singles([0.5, 1e300]),
        "none": counts([]),
    }
    text = packed({"title": "</script>"}, columns)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    head, found = unpacked(text)
    assert head["title"] == "</script>"
    assert [column["type"] for column in head["columns"]] == ["u8", "u16", "u32", "f64", "f64", "f32", "u8"]
    assert found.pop("single")[0] == 0.5
    assert found == {
        "small": [0, 255],
        "middle": [65_535, 1],
        "large": [2**32 - 1, 3],
        "huge": [2**50 + 1, 3],
        "times": [0.1, 1e300],
        "none": [],
    }
    with pytest.raises(TypeError, match="a column of u8"):
        packed({}, {"wrong": ("u8", doubles([1])[1])})


@pytest.mark.parametrize("name", ["x" * 10_000_000, "\u202e" * 10_000_000, "\ud800" * 5_000], ids=["x", "bidi", "lone"])
def test_a_name_of_megabytes_is_shortened(name):
    text = shown(name)
    assert len(text) <= LONGEST
    assert text.isprintable()
    assert text.encode()
    assert "…" in text


def test_the_lock_file_names_no_registry():
    """Who builds the front end takes it from the registry that their npm is set to."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())
    assert len(lock["packages"]) > 5
    assert not any("resolved" in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_bundles_are_small_and_ask_for_nothing():
    folder = ROOT / "src/seismo/report/page/built"
    names = {path.name for path in folder.iterdir()}
    entries = list((ROOT / "web/src/entries").iterdir())
    made = {path.with_suffix({".tsx": ".js"}.get(path.suffix, path.suffix)).name for path in entries}
    assert names == {"PREACT-LICENSE", *made}
    for path in folder.glob("*.*s"):
        text = path.read_text(encoding="ascii" if path.suffix == ".js" else "utf-8")
        assert len(text) <= 200 * 1024
        asks = "" if path.stem == "view" else r"(?<![.\w])fetch\(|"  # the viewer asks its own server
        assert not re.search(
            asks + r"\beval\(|new Function|createObjectURL|new Worker|XMLHttpRequest|@import|url\(", text
        )
        assert set(re.findall(r"https?://[^\"'` )]+", text)) <= {
            "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"
        }  # fmt: skip
