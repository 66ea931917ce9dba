"""Interpreters whose hook for references is not to be trusted: no births and deaths are recorded there."""

import pytest
from births import WHY_NOT, start

from seismo import _core


@pytest.mark.skipif(WHY_NOT is None, reason="references can be traced here")
def test_refused_where_the_hook_cannot_be_trusted():
    for options in ({}, {"paths": True}, {"objects": "types"}):
        with pytest.raises(RuntimeError) as refused:
            start(**options)
        assert str(refused.value) == WHY_NOT
    assert "3.13.3" in str(WHY_NOT)
    assert not _core.status()["running"]
    _core.objects_quiet(True)
    _core.objects_quiet(False)
    assert _core.objects_alive() == {}
    assert _core.objects_addresses((0,)) == {}
