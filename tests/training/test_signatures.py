"""Signed statements: no field can be changed, and only the owner of the key can sign."""

from __future__ import annotations

import copy
import json
import random
import stat
from dataclasses import fields, replace

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import hockeystick as hs
from hockeystick.cli.main import main
from hockeystick.errors import HockeystickError, InvalidParameter, MissingExtra
from hockeystick.training import (
    JointStatement,
    PrivateRun,
    Statement,
    check_statement,
    fingerprint,
    joint_statement,
    load_statement,
    new_key_files,
)
from hockeystick.training.signatures import PURPOSE, canonical

MUTATIONS = 500
EXAMPLES = 50
DATA = np.random.default_rng(3).normal(size=(EXAMPLES, 2))


@pytest.fixture(scope="module")
def keys():
    """Two signers."""
    return Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


def finished(steps=4, **options):
    """A run of all its steps."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=steps)
    given = {"examples": EXAMPLES, "dimension": 2, "noise_multiplier": 1.5, "max_grad_norm": 1.0}
    run = PrivateRun(plan, **given, **options)
    for _ in range(steps):
        run.step(lambda batch: DATA[batch])
    return run


@pytest.fixture(scope="module")
def signed(keys):
    """The statement of a run with everything that can be in it."""
    made = finished().statement(delta=1e-5, parameters=np.ones(2), dataset="sha256:abc")
    return made.sign(keys[0])


@pytest.fixture(scope="module")
def joint(keys):
    """Two runs of a sequence, in one signed statement."""
    return joint_statement([finished(4), finished(3)], delta=1e-5).sign(keys[0])


def problem_of(statement, key):
    """What is wrong with the signature."""
    return statement.signature_problem(key.public_key())


@pytest.mark.parametrize("which", ["signed", "joint"])
def test_a_signature_survives_a_file(which, request, keys, tmp_path):
    """Also one in which names and spaces are arranged in another way."""
    made = request.getfixturevalue(which)
    path = made.save(tmp_path / "statement.json")
    assert load_statement(path) == made
    turned = dict(reversed(json.loads(path.read_text()).items()))
    path.write_text(json.dumps(turned, indent=4))
    read = load_statement(path)
    assert problem_of(read, keys[0]) is None
    assert problem_of(read, keys[1]) == "it is signed with another key"
    found = check_statement(read, key=keys[0].public_key())
    assert found.holds
    assert found.coverage.signature == "valid"


def test_every_field_is_bound(signed, keys):
    """Another value of any field, with the signature left as it is."""
    names = [one.name for one in fields(Statement) if one.name != "signature"]
    other = {"filter": {"filter": "Gaussian", "mu": 1.0}, "note": "x", "unit": "user"}
    for name in names:
        value = getattr(signed, name)
        if isinstance(value, bool):
            changed = not value
        elif isinstance(value, (int, float)):
            changed = value * 2
        elif isinstance(value, str):
            changed = other.get(name, value + "x")
        elif isinstance(value, dict):
            changed = {**value, "more": 1}
        else:
            changed = other.get(name, [])
        assert changed != value, name
        edited = replace(signed, **{name: changed})
        assert problem_of(edited, keys[0]) == "the signature is not that of these fields", name
        taken_away = replace(signed, **{name: None})
        assert (
            name in ("filter", "note", "whole_steps", "risk")
            or problem_of(taken_away, keys[0]) is not None
        )


def leaves(value, path=()):
    """The places of all values in JSON, at any depth."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*path, name))
        yield path
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, number))
        yield path
    else:
        yield path


def mutated(content, rng):
    """The content with one change somewhere."""
    content = copy.deepcopy(content)
    *way, last = rng.choice([path for path in leaves(content) if path])
    parent = content
    for part in way:
        parent = parent[part]
    what = rng.choice(["remove", "change", "change", "change", "rename", "nest"])
    value = parent[last]
    if what == "remove":
        del parent[last]
    elif what == "rename" and isinstance(parent, dict):
        parent[f"{last}x"] = parent.pop(last)
    elif what == "nest":
        parent[last] = [value]
    elif isinstance(value, bool) or value is None:
        parent[last] = 1 if value is None else not value
    elif isinstance(value, (int, float)):
        parent[last] = rng.choice([value + 1, value * (1 + 1e-12) if value else 1, -value or 2])
    elif isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        parent[last] = value[:at] + rng.choice("0aZ") + value[at + 1 :]
    else:
        parent[last] = {} if value else {"a": 1}
    return content


@pytest.mark.parametrize("which", ["signed", "joint"])
def test_random_mutations(which, request, keys):
    """No changed file passes for a statement of the signer."""
    made = request.getfixturevalue(which)
    content, rng, tried = json.loads(made.to_json()), random.Random(9), 0
    while tried < MUTATIONS:
        changed = mutated(content, rng)
        if json.dumps(changed, sort_keys=True) == json.dumps(content, sort_keys=True):
            continue
        tried += 1
        try:
            read = type(made).from_json(json.dumps(changed))
        except HockeystickError:
            continue
        if read == made:
            # 1 and 1.0, say: what is read is what was signed.
            continue
        assert problem_of(read, keys[0]) is not None, changed


def test_an_unsigned_statement_or_an_earlier_one_does_not_pass(signed, keys):
    """Taking the signature away, and pretending to be of a version without one."""
    without = replace(signed, signature=None)
    assert problem_of(without, keys[0]) == "it is not signed"
    found = check_statement(without, key=keys[0].public_key())
    assert (found.problems, found.coverage.signature) == (
        ("signature: it is not signed",),
        "absent",
    )
    content = json.loads(signed.to_json())
    content["format"] = "hockeystick privacy statement 2"
    with pytest.raises(InvalidParameter):
        Statement.from_json(json.dumps(content))


def test_the_key_in_the_file_proves_nothing(signed, keys):
    """Whoever changes a field and signs anew is another signer."""
    forged = replace(signed, epsilon=signed.epsilon * 2).sign(keys[1])
    assert problem_of(forged, keys[1]) is None
    assert problem_of(forged, keys[0]) == "it is signed with another key"
    named = {**forged.signature, "public_key": signed.signature["public_key"]}
    claimed = replace(forged, signature=named)
    assert problem_of(claimed, keys[0]) == "the signature is not that of these fields"


def test_a_run_of_a_joint_statement_is_no_statement_of_its_own(joint, keys):
    """Nor does its signature cover less than all runs."""
    first = joint.runs[0]
    assert problem_of(replace(first, signature=joint.signature), keys[0]) is not None
    fewer = replace(joint, runs=(first, first))
    assert problem_of(fewer, keys[0]) is not None


def test_what_is_signed_begins_with_its_purpose(signed):
    """A signature of other bytes by the same key is none of a statement."""
    assert canonical({"b": 1, "a": "é"}) == PURPOSE + b'{"a":"\\u00e9","b":1}'
    assert canonical(json.loads(signed.to_json())).startswith(b"hockeystick privacy statement")


def test_key_files(tmp_path, signed, capsys):
    """PEM files; the secret one is its owner's, and neither is replaced."""
    secret = tmp_path / "me.pem"
    assert main(["keygen", str(secret)]) == 0
    public = tmp_path / "me.pem.pub"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert b"PRIVATE" not in public.read_bytes()
    made = signed.sign(secret)
    assert made.signature_problem(public) is None
    assert main(["keygen", str(secret)]) == 2
    assert "PRIVATE" not in "".join(capsys.readouterr())
    secret.chmod(0o644)
    with pytest.raises(InvalidParameter, match="others own, or can read"):
        signed.sign(secret)
    public.unlink()
    with pytest.raises(InvalidParameter, match="path"):
        new_key_files(secret)


def test_keys_of_other_kinds_are_refused(tmp_path, signed):
    """Elliptic curves of other kinds, a public key to sign, text."""
    other = generate_private_key(SECP256R1())
    path = tmp_path / "other.pem"
    path.write_bytes(
        other.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)
    public = new_key_files(tmp_path / "me.pem")
    public.chmod(0o600)
    for wrong in (path, public, b"bytes", tmp_path / "none"):
        with pytest.raises(InvalidParameter, match=r"^key must be"):
            signed.sign(wrong)
    for wrong in (path, tmp_path / "me.pem", 5):
        with pytest.raises(InvalidParameter, match=r"^key must be"):
            signed.signature_problem(wrong)


def test_without_the_library(signed, monkeypatch):
    """One sentence names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "cryptography", None)
    with pytest.raises(MissingExtra, match=r"hockeystick\[sign\]"):
        signed.sign("key.pem")


def test_statements_say_what_was_run():
    """Examples, a run's own number, the schedule, the arithmetic and the parameters."""
    first, second = finished(), finished()
    made = first.statement(delta=1e-5, parameters=np.ones(2), dataset="digits of 1998")
    assert (made.examples, made.dataset, made.arithmetic) == (EXAMPLES, "digits of 1998", "float")
    assert made.taken_schedule == [[4, 1.5, 1.0]]
    assert made.parameters == fingerprint(np.ones(2))
    assert made.run_id == first.record().run_id != second.record().run_id
    text = made.paragraph()
    for part in ("examples 50", "digits of 1998", made.parameters, made.run_id):
        assert part in text
    exact = replace(made, arithmetic="exact")
    assert "computed in integers" in exact.paragraph()
    assert Statement.from_json(exact.to_json()).arithmetic == "exact"
    with pytest.raises(InvalidParameter, match="arithmetic"):
        replace(first.record(), arithmetic="fixed")


def test_a_filter_that_shortens_the_last_step_is_in_the_schedule():
    """Which steps had which clip norm."""
    governed = finished(3, filter=hs.filters.Gaussian(mu=1.1))
    schedule = governed.statement(delta=1e-5).taken_schedule
    assert sum(steps for steps, *_ in schedule) == 3
    assert schedule[0] == [2, 1.5, 1.0, 0.2]
    assert 0 < schedule[1][2] < 1.0
    # The noise is what it was: a larger multiple of the shorter norm.
    assert np.isclose(schedule[1][1] * schedule[1][2], 1.5)
    assert check_statement(governed.statement(delta=1e-5)).holds


def test_fingerprints(tmp_path):
    """Of files that of `sha256sum`; of arrays it tells types, shapes, names and values apart."""
    path = tmp_path / "data"
    path.write_bytes(b"abc")
    assert fingerprint(path).startswith("ba7816bf8f01cfea")
    different = [
        np.zeros(4),
        np.zeros((2, 2)),
        np.zeros(4, dtype=np.float32),
        -np.zeros(4),
        {"a": np.zeros(4)},
        {"b": np.zeros(4)},
        {"a": np.zeros(2), "b": np.zeros(2)},
        {},
    ]
    assert len({fingerprint(one) for one in different}) == len(different)
    swapped = np.zeros(4).astype(">f8")
    assert fingerprint(swapped) == fingerprint(np.zeros(4))
    assert fingerprint(np.arange(6).reshape(2, 3).T) == fingerprint(
        np.ascontiguousarray(np.arange(6).reshape(2, 3).T)
    )
    for wrong in ("abc", object(), ["a"], tmp_path / "none", {1: np.zeros(2)}):
        with pytest.raises(InvalidParameter):
            fingerprint(wrong)


def test_fitted_models_state_their_parameters():
    """`fitted.statement` has the fingerprint of the model that was fitted."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=3)
    fitted = hs.training.fit_linear(
        DATA, DATA[:, 0], plan=plan, noise_multiplier=1.0, max_grad_norm=1.0, learning_rate=0.1
    )
    assert fitted.statement(delta=1e-5).parameters == fingerprint(fitted.model.parameters)


def test_joint_statements_of_the_first_format_are_read(joint):
    """They had no signature."""
    content = json.loads(replace(joint, signature=None).to_json())
    content["format"] = "hockeystick joint privacy statement 1"
    del content["signature"]
    assert JointStatement.from_json(json.dumps(content)) == replace(joint, signature=None)
