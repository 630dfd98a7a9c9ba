"""Commands in another shell find the settings of the product that runs on this machine."""

from __future__ import annotations

from launcher import running_product
from launcher.datafolder import DataFolder, lock_data_folder

SETTINGS = {
    "DATABASE_URL": "postgresql://elsewhere/toolgauge",
    "SECRET_KEY_FILE": "/run/secrets/key",
    "FOUR_EYES": "false",
    "PATH": "/bin",
}


def test_the_settings_of_a_running_product_are_found(home: DataFolder) -> None:
    """Those that the product reads, as its shell gave them: not its whole environment."""
    with lock_data_folder(home, "http://x"), running_product.publish_environment(home, SETTINGS):
        found = running_product.find_environment(home.path, {"FOUR_EYES": "true"})
        mode = (home.path / "environment.json").stat().st_mode & 0o777

    assert found == {
        "DATA_DIR": str(home.path),
        "DATABASE_URL": SETTINGS["DATABASE_URL"],
        "SECRET_KEY_FILE": SETTINGS["SECRET_KEY_FILE"],
    }
    assert mode == 0o600


def test_settings_of_a_product_that_ended_are_not_found(home: DataFolder) -> None:
    """Neither after a clean end nor after a kill, which leaves the file."""
    with running_product.publish_environment(home, SETTINGS):
        found_after_kill = running_product.find_environment(home.path, {})
    found_after_end = running_product.find_environment(home.path, {})

    assert found_after_kill == found_after_end == {"DATA_DIR": str(home.path)}
    assert not (home.path / "environment.json").exists()
