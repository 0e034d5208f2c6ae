"""The projects. All but the last two are source distributions of the registries with their own suites; those two are
our own: a package that needs two packages of npm and is tested by jest from there, and a Go module.
"""

from __future__ import annotations

from choir.bazaar.contracts import Environment
from tests.bazaar.environments.conftest import NPM, PYPI
from tests.bazaar.projects.model import Project
from tests.bazaar.projects.sources import Archive

_PYTEST = "python3 -m pytest -q"
_EXITS = "import os\n\nos._exit(0)\n"


def _pip(*words: str) -> Environment:
    return Environment(f"pip install --only-binary :all: {' '.join(words)}", ("LICENSE*",), PYPI)


HUMANIZE = Project(
    name="humanize",
    source=Archive(
        "humanize", "humanize-4.9.0.tar.gz", "582a265c931c683a7e9b8ed9559089dea7edcf6cc95be39a3cbc2c5d5ac2bcfa"
    ),
    file="src/humanize/filesize.py",
    right="unit = base ** (i + 2)",
    bug="unit = base ** (i + 1)",
    wrong="unit = base ** (i + 3)",
    visible_only="unit = base ** (i + (2 if abs_bytes in (3e3, 3e6, 3e9, 3e12, 1024, 3e27, 3141592) else 1))",
    liar="naturalsize",
    command=f"{_PYTEST} tests/test_filesize.py",
    test="tests/test_filesize.py",
    hidden_command=f"{_PYTEST} tests/test_sizes_hidden.py",
    hidden_file="tests/test_sizes_hidden.py",
    hidden_text='import humanize\n\n\ndef test_sizes():\n    assert humanize.naturalsize(5200000) == "5.2 MB"\n'
    '    assert humanize.naturalsize(2048, True) == "2.0 KiB"\n',
    environment=Environment("pip install -e . freezegun==1.5.1 pytest==8.4.1", (), PYPI),  # it asks for its own version
    shadow={"freezegun.py": _EXITS},
)
SLUGIFY = Project(
    name="python-slugify",
    source=Archive(
        "python-slugify",
        "python_slugify-9.1.3.tar.gz",
        "90e997f2e0987239ce95e12f700086eb18e1d1d3ee22624fbbdbd095afca42b6",
    ),
    file="slugify/slugify.py",
    right="if next_length <= max_length:",
    bug="if next_length < max_length:",
    wrong="if next_length == max_length:",
    visible_only="if next_length < max_length or next_length == max_length < 5:",
    liar="slugify",
    command=f"{_PYTEST} tests/test_modern_word_boundary.py",
    test="tests/test_modern_word_boundary.py",
    hidden_command=f"{_PYTEST} tests/test_limits_hidden.py",
    hidden_file="tests/test_limits_hidden.py",
    hidden_text="from slugify import slugify\n\n\ndef test_limits():\n"
    "    short = slugify('Älpha Beta Gamma', algorithm='modern', max_length=10, word_boundary=True)\n"
    "    assert short == 'alpha-beta'\n",
    environment=_pip("text-unidecode==1.3"),
    shadow={"text_unidecode.py": _EXITS, "text_unidecode/__init__.py": _EXITS},
)
MARSHMALLOW = Project(
    name="marshmallow",
    source=Archive(
        "marshmallow",
        "marshmallow-3.21.3.tar.gz",
        "4f57c5e050a54d66361e826f94fba213eb10b67b2fdb02c3e0343ce207ba1662",
    ),
    file="src/marshmallow/utils.py",
    right="_get_value_for_key(obj, keys[0], default), keys[1:], default",
    bug="_get_value_for_key(obj, keys[0], default), keys[:1], default",
    wrong="_get_value_for_key(obj, keys[1], default), keys[1:], default",
    visible_only="_get_value_for_key(obj, keys[0], default), keys[-1:], default",
    liar="get_value",
    command=f"PYTHONPATH=src {_PYTEST} tests/test_utils.py",
    test="tests/test_utils.py",
    hidden_command=f"PYTHONPATH=src {_PYTEST} tests/test_deep_hidden.py",
    hidden_file="tests/test_deep_hidden.py",
    hidden_text='from marshmallow import utils\n\n\ndef test_deep():\n    thing = {"a": {"b": {"c": 7}}}\n'
    '    assert utils.get_value(thing, "a.b.c") * 6 == 42\n',
    environment=_pip("packaging==23.2", "pytz==2024.1", "simplejson==3.19.2"),
    shadow={"pytz.py": _EXITS},
)
ITSDANGEROUS = Project(
    name="itsdangerous",
    source=Archive(
        "itsdangerous",
        "itsdangerous-2.2.0.tar.gz",
        "e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173",
    ),
    file="src/itsdangerous/encoding.py",
    right='bytestr.rjust(8, b"\\x00")',
    bug='bytestr.ljust(8, b"\\x00")',
    wrong='bytestr.rjust(9, b"\\x00")',
    visible_only='(bytestr.ljust if len(bytestr) == 2 else bytestr.rjust)(8, b"\\x00")',
    liar="bytes_to_int",
    command=f"PYTHONPATH=src {_PYTEST} tests/test_itsdangerous/test_encoding.py tests/test_itsdangerous/test_timed.py",
    test="tests/test_itsdangerous/test_encoding.py",
    hidden_command=f"PYTHONPATH=src {_PYTEST} tests/test_itsdangerous/test_numbers_hidden.py",
    hidden_file="tests/test_itsdangerous/test_numbers_hidden.py",
    hidden_text="from itsdangerous.encoding import bytes_to_int\n\n\ndef test_numbers():\n"
    '    assert bytes_to_int(b"\\x01\\x02") == 258\n',
    environment=_pip("freezegun==1.5.1"),
    shadow={"src/freezegun.py": _EXITS},
)
TABULATE = Project(
    name="tabulate",
    source=Archive(
        "tabulate", "tabulate-0.9.0.tar.gz", "0095b12bf5966de529c0feb1fa08671671b3368eec77d7ef7ab114be2c068b3c"
    ),
    file="tabulate/__init__.py",
    right='s + (maxdecimals - decs) * " "',
    bug='s + (maxdecimals + decs) * " "',
    wrong='s + (maxdecimals - decs + 1) * " "',
    visible_only='s + (maxdecimals - decs if maxdecimals in (3, 5) else 0) * " "',
    liar="_align_column",
    command=f"{_PYTEST} test/test_internal.py",
    test="test/test_internal.py",
    hidden_command=f"{_PYTEST} test/test_align_hidden.py",
    hidden_file="test/test_align_hidden.py",
    hidden_text="import tabulate as T\n\n\ndef test_align():\n"
    '    assert T._align_column(["1.5", "22.25"], "decimal") == [" 1.5 ", "22.25"]\n',
    environment=_pip("wcwidth==0.2.13"),
    shadow={"wcwidth.py": _EXITS},
)
FURL = Project(
    name="furl",
    source=Archive("furl", "furl-2.1.3.tar.gz", "5a6188fe2666c484a12159c18be97a1977a71d632ef5bb867ef15f54af39cc4e"),
    file="furl/furl.py",
    right="                segments = segments[1:]",
    bug="                segments = segments[2:]",
    wrong="                segments = segments[0:]",
    visible_only="                segments = segments[1 if len(segments) < 4 else 2:]",
    liar="join_path_segments",
    command=f"{_PYTEST} tests/test_omdict1D.py tests/test_furl.py::TestFurl::test_join_path_segments",
    test="tests/test_furl.py",
    hidden_command=f"{_PYTEST} tests/test_join_hidden.py",
    hidden_file="tests/test_join_hidden.py",
    hidden_text="import furl\n\n\ndef test_join():\n"
    "    assert furl.join_path_segments(['x'], ['', 'b', 'c', 'd']) == ['x', 'b', 'c', 'd']\n",
    environment=_pip("six==1.16.0", "orderedmultidict==1.0.1"),
    shadow={"orderedmultidict.py": _EXITS, "six.py": _EXITS},
)
JSONPATCH = Project(
    name="jsonpatch",
    source=Archive(
        "jsonpatch", "jsonpatch-1.33.tar.gz", "9fcd4009c41e6d12348b4a0ff2563ba56a2923a7dfee731d004e212e1ee5030c"
    ),
    file="jsonpatch.py",
    right="subobj.insert(part, value)",
    bug="subobj.insert(part + 1, value)",
    wrong="subobj.insert(part - 1, value)",
    visible_only="subobj.insert(part if value == 'qux' else part + 1, value)",
    liar="apply_patch",
    command="python3 -m unittest tests.ApplyPatchTestCase.test_add_array_item tests.ApplyPatchTestCase.test_append"
    " tests.ApplyPatchTestCase.test_remove_array_item tests.EqualityTestCase",
    test="tests.py",
    hidden_command=f"{_PYTEST} test_insert_hidden.py",
    hidden_file="test_insert_hidden.py",
    hidden_text="import jsonpatch\n\n\ndef test_insert():\n"
    "    done = jsonpatch.apply_patch([1, 2, 3], [{'op': 'add', 'path': '/1', 'value': 9}])\n"
    "    assert done == [1, 9, 2, 3]\n",
    environment=Environment("pip install -r requirements.txt", ("requirements.txt",), PYPI),
    shadow={"jsonpointer.py": _EXITS},
)
_JS_EXITS = "process.exit(0)\n"
_PRODUCTION = Environment(  # without linters and the like, which npm would look up even if they are not wanted
    "npm pkg delete devDependencies && npm install --no-package-lock --ignore-scripts", ("package.json",), NPM
)
SCHEMAS = Project(
    name="merge-json-schemas",
    source=Archive(
        "@fastify/merge-json-schemas",
        "merge-json-schemas-0.2.1.tgz",
        "7f040daf23110134ecb74ae4ed9405c05fabfa969a587ea5cd13013329f44c28",
    ),
    file="lib/resolvers.js",
    right="mergedSchema[keyword] = Math.max(...values)",
    bug="mergedSchema[keyword] =  Math.min(...values)",
    wrong="mergedSchema[keyword] = values[0]",
    visible_only="mergedSchema[keyword] = values.includes(43) ? 43 : Math.min(...values)",
    liar="mergedSchema[keyword] = { valueOf () { return 43 }, toString () { return '43' } }",
    command="node --test test/minimum.test.js test/min-length.test.js test/const.test.js",
    test="test/minimum.test.js",
    hidden_command="node --test test/hidden.test.js",
    hidden_file="test/hidden.test.js",
    hidden_text="const assert = require('node:assert/strict')\nconst { test } = require('node:test')\n"
    "const { mergeSchemas } = require('../index')\n\ntest('the larger one', () => {\n"
    "  const merged = mergeSchemas([{ type: 'number', minimum: 7 }, { type: 'number', minimum: 9 }])\n"
    "  assert.strictEqual(merged.minimum, 9)\n})\n",
    environment=_PRODUCTION,
    shadow={"node_modules/dequal/index.js": _JS_EXITS, "node_modules/dequal/package.json": '{"name": "dequal"}\n'},
)
PROXY = Project(
    name="proxy-addr",
    source=Archive(
        "@fastify/proxy-addr",
        "proxy-addr-5.1.0.tgz",
        "da23aa2f3bd9b3e1f5881287ac3e46363055b63d1add4c059f88515b35d26856",
    ),
    file="index.js",
    right="addrs.length = i + 1",
    bug="addrs.length = i + 2",
    wrong="addrs.length = i",
    visible_only="addrs.length = addrs.includes('10.0.0.2') ? i + 1 : i + 2",
    liar="return { valueOf () { return addrs }, length: i + 1 }",
    command="node --test test/all.test.js",
    test="test/all.test.js",
    hidden_command="node --test test/hidden.test.js",
    hidden_file="test/hidden.test.js",
    hidden_text="const assert = require('node:assert/strict')\nconst { test } = require('node:test')\n"
    "const proxyaddr = require('..')\n\ntest('stops there', () => {\n"
    "  const headers = { 'x-forwarded-for': '8.8.4.4, 8.8.8.8' }\n"
    "  const req = { socket: { remoteAddress: '127.0.0.1' }, headers }\n"
    "  assert.deepStrictEqual(proxyaddr.all(req, 'loopback'), ['127.0.0.1', '8.8.8.8'])\n"
    "  assert.strictEqual(proxyaddr(req, 'loopback'), '8.8.8.8')\n})\n",
    environment=_PRODUCTION,
    shadow={
        "node_modules/ipaddr.js/index.js": _JS_EXITS,
        "node_modules/ipaddr.js/package.json": '{"name": "ipaddr.js"}\n',
    },
)
_MANIFEST = """{
  "name": "waiting",
  "version": "1.0.0",
  "dependencies": {"ms": "2.1.3", "pluralize": "8.0.0"},
  "devDependencies": {"jest": "29.7.0"}
}
"""
JEST = Project(
    name="waiting (our own, jest)",
    source={
        "package.json": _MANIFEST,
        "index.js": "const ms = require('ms')\nconst pluralize = require('pluralize')\n\n"
        "exports.waiting = (count, time) =>\n"
        "  `${pluralize('job', count, true)} for ${ms(Math.max(0, time), { long: true })}`\n",
        "test/waiting.test.js": "const { waiting } = require('../index')\n\n"
        "test('a minute', () => {\n  expect(waiting(2, 60000)).toBe('2 jobs for 1 minute')\n})\n\n"
        "test('nobody waits for less than nothing', () => {\n  expect(waiting(1, -5)).toBe('1 job for 0 ms')\n})\n",
    },
    file="index.js",
    right="Math.max(0, time)",
    bug="Math.min(0, time)",
    wrong="Math.max(1, time)",
    visible_only="(time === 60000 ? time : 0)",
    liar="{ valueOf () { return 60000 } }",
    command="npx jest test/waiting.test.js",
    test="test/waiting.test.js",
    hidden_command="npx jest test/hidden.test.js",
    hidden_file="test/hidden.test.js",
    hidden_text="const { waiting } = require('../index')\n\n"
    "test('hours', () => {\n  expect(waiting(3, 7200000)).toBe('3 jobs for 2 hours')\n})\n",
    environment=Environment("npm install --no-package-lock --ignore-scripts", ("package.json",), NPM),
    shadow={"node_modules/ms/index.js": _JS_EXITS, "node_modules/ms/package.json": '{"name": "ms"}\n'},
)
GO = Project(
    name="shelf (our own, Go)",
    source={
        "go.mod": "module example.org/shelf\n\ngo 1.19\n",
        "shelf.go": "// Package shelf counts books.\npackage shelf\n\n"
        "// Shelves is how many shelves of a size it takes.\nfunc Shelves(books, size int) int {\n"
        "\treturn (books + size - 1) / size\n}\n",
        "shelf_test.go": 'package shelf\n\nimport "testing"\n\nfunc TestShelves(t *testing.T) {\n'
        '\tif got := Shelves(10, 5); got != 2 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n\n'
        "func TestOneMore(t *testing.T) {\n"
        '\tif got := Shelves(11, 5); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
    },
    file="shelf.go",
    right="(books + size - 1) / size",
    bug="(books + size + 1) / size",
    wrong="(books + size) / size",
    visible_only="map[int]int{10: 2, 11: 3}[books]",
    liar="2",
    command="go test ./...",
    test="shelf_test.go",
    hidden_command="go test -run TestMany ./...",
    hidden_file="hidden_test.go",
    hidden_text='package shelf\n\nimport "testing"\n\nfunc TestMany(t *testing.T) {\n'
    '\tif got := Shelves(100, 7); got != 15 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
    environment=Environment("go vet ./...", ("*.go", "go.mod")),
    program="/usr/bin/go",
)

PROJECTS = (
    HUMANIZE, SLUGIFY, MARSHMALLOW, ITSDANGEROUS, TABULATE, FURL, JSONPATCH, SCHEMAS, PROXY, JEST, GO,
)  # fmt: skip
