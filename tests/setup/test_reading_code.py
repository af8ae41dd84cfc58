"""Which files a script names and writes, from its text."""

from __future__ import annotations

import pytest

from autoscirub.setup.discover.code import read_code

CASES = [
    # script, its text, what it names, what it writes
    ("run.py", 'json.dump(x, open("results.json", "w"))', {"results.json"}, {"results.json"}),
    ("run.py", 'with open("out/a.json", "w") as f:\n    json.dump(x, f)', {"out/a.json"}, {"out/a.json"}),
    ("run.py", 'x = json.load(open("in.json"))', {"in.json"}, set()),
    ("run.py", 'OUT = Path("out")\n(OUT / "a.json").write_text(x)', {"out/a.json"}, {"out/a.json"}),
    (
        "run.py",
        'OUT = Path("out") / "deep"\np = OUT / "a.json"\np.write_text(x)',
        {"out/deep/a.json"},
        {"out/deep/a.json"},
    ),
    ("run.py", 'open(os.path.join("out", "a.json"), "w")', {"out/a.json"}, {"out/a.json"}),
    ("run.py", 'D = "out"\nopen(os.path.join(D, "a.json"), "w")', {"out/a.json"}, {"out/a.json"}),
    (
        "src/run.py",
        'R = Path(__file__).resolve().parents[1]\n(R / "a.json").write_text(x)',
        {"a.json"},
        {"a.json"},
    ),
    ("src/run.py", 'R = Path(__file__).parent\n(R / "a.json").write_text(x)', {"src/a.json"}, {"src/a.json"}),
    ("src/run.py", '(Path(__file__).parent.parent / "a.json").write_text(x)', {"a.json"}, {"a.json"}),
    ("run.py", '(Path(__file__).parent.parent / "a.json").write_text(x)', set(), set()),
    ("run.py", '(somewhere() / "a.json").write_text(x)', set(), set()),
    ("run.py", '(UNKNOWN / "a.json").write_text(x)', set(), set()),
    ("run.py", 'df = pd.read_csv("in.csv")\ndf.to_csv("out.csv")', {"in.csv", "out.csv"}, {"out.csv"}),
    ("run.py", '# open("a.json", "w")', set(), set()),
    ("run.py", 'open("../a.json", "w"); open("/etc/a.json", "w"); open("~/a.json", "w")', set(), set()),
    ("run.py", 'if x > "a.json": pass', {"a.json"}, set()),
    ("run.R", 'write_json(x, file.path("out", "a.json"))', {"out/a.json"}, {"out/a.json"}),
    ("run.R", 'out <- "a.json"\nwrite_json(x, out)', {"a.json"}, {"a.json"}),
    ("run.sh", "./model --out a.json", {"a.json"}, {"a.json"}),
    ("run.sh", "./model < a.json", {"a.json"}, set()),
]


@pytest.mark.parametrize(("script", "text", "names", "writes"), CASES)
def test_the_usual_ways_to_name_a_file_are_seen(script, text, names, writes) -> None:
    code = read_code(text, script)
    assert (code.names, code.writes) == (names, writes)
