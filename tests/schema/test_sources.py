from schema import sources


def make(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def test_the_cargo_is_sources_and_facts_without_the_host_only_files(tmp_path):
    root = make(
        tmp_path,
        {
            "schema/errors.py": "",
            "schema/canon.py": "",
            "schema/documents.py": "",
            "schema/lock-1.schema.json": "{}",
            "schema/facts/gfx.json": "{}",
            "validate/checks/driver.py": "",
            "validate/__pycache__/x.py": "",
            "benchmarks/__main__.py": "",
            "bundle/seal.py": "",
        },
    )

    assert sources.files(root) == [
        "benchmarks/__main__.py",
        "schema/errors.py",
        "schema/facts/gfx.json",
        "validate/checks/driver.py",
    ]


def test_the_digest_changes_with_content_and_with_names(tmp_path):
    one = sources.digest(make(tmp_path / "one", {"schema/a.py": "1"}))
    content = sources.digest(make(tmp_path / "two", {"schema/a.py": "2"}))
    name = sources.digest(make(tmp_path / "three", {"schema/b.py": "1"}))

    assert len({one, content, name}) == 3
    assert sources.digest(make(tmp_path / "four", {"schema/a.py": "1"})) == one
