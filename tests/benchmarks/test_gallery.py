"""The gallery's page has the pictures that it shows."""

from __future__ import annotations

import pytest


def test_no_page_is_written_around_a_picture_that_cannot_be_drawn(
    import_script, tmp_path, monkeypatch
):
    gallery = import_script("gallery")
    monkeypatch.setattr(gallery, "GALLERY", tmp_path)
    monkeypatch.setattr("sys.argv", ["gallery.py", str(tmp_path / "gone.json")])
    with pytest.raises(SystemExit, match="1"):
        gallery.main()
    assert not [*tmp_path.iterdir()]
