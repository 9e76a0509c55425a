"""The pure parts of the test on a cluster (`make test-cluster`)."""

import re
import socket
from pathlib import Path

import pytest

from tests.cluster import runs, slurm
from tests.conftest import ROOT

PRINTED = """Job 5 has been submitted with SLURM jobid 12 (log: .snakemake/slurm_logs/12.log).
[Sat Nov 21 09:47:00 2026]
Job 14: Drawing Figures 1-4
Job 7 has been submitted with SLURM jobid 13 (log: .snakemake/slurm_logs/13.log).
Error: Job 7 has been submitted with SLURM jobid 99 (quoted)
"""
RECORDS = """JobId=12 JobName=1f-2 UserId=root(0) JobState=COMPLETED Reason=None Requeue=0 \
RunTime=00:01:02 TimeLimit=00:10:00 NodeList=n1 MinMemoryNode=800M Comment=rule_split \
Command=(null) StdErr=/a/b.log Power=
JobId=13 JobName=1f-2 JobState=NODE_FAIL Reason=Node Down RunTime=1-00:00:03 NodeList=n2 \
MinMemoryNode=1.50G Comment=rule_rank_wildcards_X_1-of-3
"""


def test_job_ids_that_snakemake_prints():
    assert runs.submitted(PRINTED) == ["12", "13"]


def test_records_that_scontrol_prints():
    records = slurm.parse_records(RECORDS)
    assert list(records) == ["12", "13"]
    assert records["12"]["JobState"] == "COMPLETED"
    assert records["12"]["StdErr"] == "/a/b.log"
    assert records["13"]["Reason"] == "Node Down"
    assert records["13"]["Comment"] == "rule_rank_wildcards_X_1-of-3"
    assert [runs.megabytes(each) for each in records.values()] == [800, 1536]
    assert [slurm.seconds(each["RunTime"]) for each in records.values()] == [62, 86403]
    assert slurm.parse_records("No jobs in the system\n") == {}
    with pytest.raises(runs.RunError, match="job 1 asked for no memory: 0"):
        runs.megabytes({"JobId": "1", "MinMemoryNode": "0"})


def test_configuration_of_the_cluster():
    text = slurm.conf(Path("/somewhere"), (61, 62, 63), cpus=3, memory=9000)
    assert text.startswith(slurm.MARK)
    assert "SlurmctldPort=61\n" in text
    nodes = re.findall(r"^NodeName=(n\d) .* Port=(\d+) CPUs=3 RealMemory=9000 ", text, re.M)
    assert nodes == [("n1", "62"), ("n2", "63")]
    assert "PartitionName=main Nodes=n1,n2 Default=YES" in text
    folders = {line.split("=")[1] for line in text.splitlines() if "=/" in line}
    assert all(each.startswith("/somewhere/") for each in folders - {"/bin/true"})


def test_ports_are_three_and_free():
    ports = slurm.free_ports()
    assert len(set(ports)) == 3
    for port in ports:
        with socket.socket() as free:
            free.bind(("127.0.0.1", port))


def test_the_profile_has_what_its_user_edits():
    profile = (ROOT / "workflow/profiles/slurm/config.yaml").read_text()
    text = runs.edited(profile)
    for line in ("\n  slurm_account: lab\n", "\n  slurm_partition: main\n"):
        assert line in text
    assert "\nslurm-status-command: squeue\n" in text
    with pytest.raises(runs.RunError, match="the profile for SLURM has no"):
        runs.edited("jobs: 3\n")


def test_comparison_names_what_differs():
    runs.compare({"a": b"1", "b": b"2"}, {"b": b"2", "a": b"1"})
    with pytest.raises(runs.RunError, match="bytes differ in b"):
        runs.compare({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3"})
    with pytest.raises(runs.RunError, match="only one of the runs made b, c"):
        runs.compare({"a": b"1", "b": b"2"}, {"a": b"1", "c": b"3"})


@pytest.mark.parametrize(
    ("plugin", "root", "running", "reason"),
    [
        (True, False, "", "starting SLURM needs root"),
        (False, True, "", "snakemake-executor-plugin-slurm is not installed"),
        (True, True, "munged", "munged is running on this machine, and it is not ours to touch"),
        (True, True, "", "SLURM is not installed, and there is no apt-get to install it"),
    ],
)
def test_why_it_cannot_run_is_one_line(monkeypatch, plugin, root, running, reason):
    monkeypatch.setattr(slurm.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(slurm.importlib.util, "find_spec", lambda _: plugin or None)
    monkeypatch.setattr(slurm, "_output", lambda *words: "7" if words[-1] == running else "")
    monkeypatch.setattr(slurm.shutil, "which", lambda _: None)
    assert slurm.missing().startswith(reason)
    assert "\n" not in slurm.missing()
