"""Each model of settings is built on the interpreter at hand."""

import importlib
import pkgutil
from inspect import isclass
from typing import get_args

import pydantic
import pytest
import yaml

import sampled_metrics_study
from sampled_metrics_study.config import Entry, Study
from sampled_metrics_study.validation import Settings
from tests.conftest import ROOT

for module in pkgutil.walk_packages(
    sampled_metrics_study.__path__, "sampled_metrics_study."
):
    if not module.name.endswith((".ncf", ".audit", ".reference")):
        importlib.import_module(module.name)


def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


MODELS = sorted(set(subclasses(Settings)), key=lambda kind: kind.__qualname__)
PAPERS = yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8"))
EXTERNAL = {"path": "scores.npz", "format": "scores"}


def minimal(model):
    """Valid values of the settings that have no default."""
    if issubclass(model, Study):
        return PAPERS
    if issubclass(model, Entry):
        kind = model.model_fields["kind"].annotation
        kind = get_args(kind)[0] if get_args(kind) else "als"
        settings = {} if kind != "external" else EXTERNAL
        return {"name": "A", "kind": kind, "settings": settings}
    return {key: value for key, value in EXTERNAL.items() if is_required(model, key)}


def is_required(model, key):
    return key in model.model_fields and model.model_fields[key].is_required()


def test_models_are_discovered():
    names = {model.__name__ for model in MODELS}
    expected = {"Study", "SplitSettings", "ToySettings", "external"}
    assert names >= expected


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__qualname__)
def test_each_model_is_built_and_built_again_from_its_values(model):
    settings = model.of(minimal(model), "config")
    values = settings.model_dump(mode="json", by_alias=True)
    assert model.of(values, "config") == settings


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=str)
def test_each_configuration_is_built(path):
    given = yaml.safe_load(path.read_text("utf-8"))
    values = PAPERS | {
        key: PAPERS[key] | value if isinstance(value, dict) else value
        for key, value in given.items()
    }
    study = Study.of(values, "config")
    assert study.names == [entry["name"] for entry in values["recommenders"]]


VALIDATORS = (
    pydantic.AfterValidator,
    pydantic.BeforeValidator,
    pydantic.PlainValidator,
    pydantic.WrapValidator,
    pydantic.PlainSerializer,
    pydantic.WrapSerializer,
)


def validators(annotation):
    """All validators within an annotation."""
    for part in (*get_args(annotation), *getattr(annotation, "__metadata__", ())):
        if isinstance(part, VALIDATORS):
            yield part
        else:
            yield from validators(part)


def of_model(model):
    for field in model.model_fields.values():
        for part in (*field.metadata, field.annotation):
            if isinstance(part, VALIDATORS):
                yield part
            yield from validators(part)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__qualname__)
def test_no_validator_is_a_class(model):
    """Pydantic inspects their signatures, which differ by version of Python for classes."""
    assert not [each for each in of_model(model) if isclass(each.func)]


def test_validators_are_seen():
    toy = next(model for model in MODELS if model.__name__ == "ToySettings")
    experiment = next(
        model for model in MODELS if model.__name__ == "ExperimentSettings"
    )
    assert any(of_model(toy))
    assert len(list(of_model(experiment))) >= 6
