import platform

from sampled_metrics.study.resources import out_of_memory


# By which `sampled-metrics study unlock` knows whose lock a killed run has left.
onstart:
    Path(".snakemake/host").write_text(platform.node())


# Why a step failed is the last line of its log, unless it was killed.
onerror:
    for line in out_of_memory(workflow.scheduler.failed):
        logger.error(line)
