"""Archives of MovieLens: downloads from a faulty local server, local archives, and sources."""

import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.archive import UnreachableError, describe_tables, fetch
from sampled_metrics_study.data.movielens import CATALOGUE, ML_1M
from sampled_metrics_study.data.settings import DatasetSettings
from tests.conftest import run_script, write_archive

# Nothing listens on the discard port.
CLOSED = "http://127.0.0.1:9/ml-1m.zip"
RATINGS = b"1::10::5::1\n1::20::3::2\n"


@pytest.fixture
def server(tmp_path):
    """A server of one archive; it gives the `answers` in turn, then complete answers."""
    content = write_archive(tmp_path / "published.zip", RATINGS).read_bytes()
    released = threading.Event()
    state = SimpleNamespace(content=content, answers=[], requests=0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state.requests += 1
            answer = state.answers.pop(0) if state.answers else "complete"
            if answer.isdigit():
                self.send_error(int(answer))
                return
            body = b"<html>Please log in.</html>" if answer == "page" else state.content
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:40] if answer in {"truncated", "stalled"} else body)
            if answer == "stalled":
                released.wait(10)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    state.url = f"http://127.0.0.1:{running.server_port}/ml-1m.zip"
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    released.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def pauses(monkeypatch):
    """Delays between attempts, in seconds, which are recorded instead of slept."""
    slept = []
    monkeypatch.setattr("pooch.core.time.sleep", slept.append)
    return slept


@pytest.fixture(autouse=True)
def _published(server, monkeypatch):
    """Declare the server's archive the published archive of ml-1m."""
    checksum = f"sha256:{hashlib.sha256(server.content).hexdigest()}"
    monkeypatch.setitem(CATALOGUE, "ml-1m", replace(ML_1M, checksum=checksum))


def fetch_archive(tmp_path, url=None, name="ml-1m", **options):
    settings = {"cache": str(tmp_path / "cache"), "timeout": 5, **options}
    return fetch(tmp_path / "out" / f"{name}.zip", DatasetSettings(name=name, url=url, **settings))


def test_download_complete_archive_is_official(tmp_path, server):
    source = fetch_archive(tmp_path, server.url)
    assert (tmp_path / "out" / "ml-1m.zip").read_bytes() == server.content
    assert (source.origin, source.archive) == ("download", "ml-1m.zip")
    assert source.checksum == CATALOGUE["ml-1m"].checksum
    assert source.archive_sha256 == hashlib.sha256(server.content).hexdigest()
    assert source.ratings_sha256 == hashlib.sha256(RATINGS).hexdigest()
    # the contents of the official archive are official
    assert (source.archive_is_official, source.ratings_is_official) == (True, True)


def test_second_fetch_is_from_the_cache(tmp_path, server):
    fetch_archive(tmp_path, server.url)
    assert fetch_archive(tmp_path, server.url).origin == "cache"
    assert server.requests == 1


def test_spoilt_cache_is_downloaded_again(tmp_path, server):
    fetch_archive(tmp_path, server.url)
    (tmp_path / "cache" / "ml-1m.zip").write_bytes(b"spoilt")
    assert fetch_archive(tmp_path, server.url).origin == "download"
    assert server.requests == 2


def test_local_archive_is_preferred_to_the_cache(tmp_path, server):
    fetch_archive(tmp_path, server.url)
    mine = write_archive(tmp_path / "mine.zip", RATINGS * 2)
    source = fetch_archive(tmp_path, server.url, archive=str(mine))
    assert (source.origin, source.archive) == ("local archive", "mine.zip")
    assert (source.archive_is_official, source.ratings_is_official) == (False, False)
    assert (tmp_path / "out" / "ml-1m.zip").read_bytes() == mine.read_bytes()


@pytest.mark.parametrize("name", CATALOGUE)
def test_ratings_with_official_git_hash_are_official(tmp_path, monkeypatch, name):
    # git hash-object of "hello\n" is ce01362...
    blob = "ce013625030ba8dba906f756967f9e9ca394464a" if name == "ml-1m" else None
    dataset = replace(CATALOGUE[name], ratings_git_blob=blob)
    monkeypatch.setitem(CATALOGUE, name, dataset)
    path = write_archive(tmp_path / "a.zip", b"hello\n", member=dataset.member)
    source = fetch_archive(tmp_path, name=name, archive=str(path))
    assert source.ratings_is_official is (True if blob else None)
    assert source.ratings_sha256 == hashlib.sha256(b"hello\n").hexdigest()
    assert source.archive_is_official is (None if dataset.checksum is None else False)


@pytest.fixture
def latest(tmp_path, server):
    """Let the server publish an archive that changes, and so has no checksum."""
    text = b"userId,movieId,rating,timestamp\n1,10,4.5,7\n"
    member = CATALOGUE["ml-latest-small"].member
    server.content = write_archive(tmp_path / "latest.zip", text, member).read_bytes()
    return SimpleNamespace(name="ml-latest-small", url=server.url, ratings=text)


def test_archive_without_checksum_may_be_official_or_not(tmp_path, server, latest):
    source = fetch_archive(tmp_path, latest.url, name=latest.name)
    assert (source.origin, source.checksum) == ("download", None)
    assert (source.archive_is_official, source.ratings_is_official) == (None, None)
    assert source.ratings_sha256 == hashlib.sha256(latest.ratings).hexdigest()
    assert fetch_archive(tmp_path, latest.url, name=latest.name).origin == "cache"
    assert server.requests == 1


@pytest.mark.usefixtures("pauses")
def test_archive_without_checksum_must_be_zip(tmp_path, server, latest):
    server.answers = ["page"]
    with pytest.raises(InputError, match=r"dataset\.archive"):
        fetch_archive(tmp_path, latest.url, name=latest.name, retries=0)
    assert not list((tmp_path / "cache").glob("*"))


@pytest.mark.parametrize("answers", [["503", "503"], ["truncated"]])
def test_download_retries_after_bad_answers(tmp_path, server, pauses, answers):
    server.answers = answers[:]
    assert fetch_archive(tmp_path, server.url).origin == "download"
    assert server.requests == len(answers) + 1 == len(pauses) + 1


@pytest.fixture
def addresses(server):
    """Addresses of the server, and some at which there is none."""
    return {
        "server": server.url,
        "server by https": server.url.replace("http:", "https:"),
        "closed": CLOSED,
        "unresolved": "http://no-such-host.invalid/ml-1m.zip",
    }


FAILURES = [
    ("server", "503", {}, UnreachableError, "503 Server Error"),
    ("server", "stalled", {"timeout": 0.2}, UnreachableError, "timed out"),
    ("server", "404", {}, InputError, "404 Client Error: Not Found"),
    ("server", "truncated", {}, InputError, "IncompleteRead"),
    ("server", "page", {}, InputError, "does not match the known hash"),
    ("server by https", "", {}, InputError, "SSL"),
    ("closed", "", {}, UnreachableError, "Connection refused"),
    ("unresolved", "", {}, UnreachableError, "resolve"),
]


@pytest.mark.parametrize(("address", "answer", "options", "error", "problem"), FAILURES)
def test_failed_download_is_tried_again_and_leaves_nothing(
    tmp_path, server, pauses, addresses, address, answer, options, error, problem
):
    server.answers = [answer] * 2
    with pytest.raises(InputError, match=problem) as caught:
        fetch_archive(tmp_path, addresses[address], retries=1, **options)
    assert type(caught.value) is error
    assert len(pauses) == 1
    assert server.requests == (2 if address == "server" else 0)
    assert not (tmp_path / "out").exists()
    assert not list((tmp_path / "cache").glob("*"))


@pytest.mark.parametrize(
    ("address", "answer", "is_unreachable"), [("server", "404", False), ("closed", "", True)]
)
def test_failed_download_names_address_and_remedies(
    tmp_path, server, addresses, address, answer, is_unreachable
):
    """Only if no server answers, the ranks of the reference run may serve instead."""
    server.answers = [answer]
    with pytest.raises(InputError) as caught:
        fetch_archive(tmp_path, addresses[address], retries=0)
    assert addresses[address] in str(caught.value)
    assert "MOVIELENS_ARCHIVE" in str(caught.value)
    assert ("ranks: reference" in str(caught.value)) == is_unreachable


@pytest.mark.parametrize("answer", ["closed", "404"])
def test_script_marks_unreachable_server(tmp_path, server, answer):
    server.answers, log = ["404"], tmp_path / "fetch.log"
    url = CLOSED if answer == "closed" else server.url
    dataset = {"url": url, "cache": f"{tmp_path}/cache", "retries": 0}
    outputs = {"archive": f"{tmp_path}/a.zip", "source": f"{tmp_path}/source.json"}
    with pytest.raises(SystemExit):
        run_script("fetch", log, {"archive": []}, outputs, dataset=dataset)
    assert (tmp_path / "fetch.log.unreachable").exists() == (answer == "closed")
    assert not (tmp_path / "a.zip").exists()


def test_table_source_has_checksums_and_citation(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"hello\n")
    settings = DatasetSettings(format="table", name="mine", citation="Me")
    source = describe_tables([path, path], settings)
    # sha256sum of "hello\n"
    checksum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert (source.dataset, source.origin, source.archive) == ("mine", "table", "t.csv, t.csv")
    assert source.archive_sha256 == source.ratings_sha256 == f"{checksum}, {checksum}"
    assert source.bytes == 2 * len("hello\n")
    assert (source.licence, source.citation) == (None, "Me")
