"""How numerical kernels are compiled and kept.

Numba compiles every function on its own, optimises it with all that it calls, wraps it for Python and for C, and
turns it into machine code, although most functions are only called by others; half of the time to compile the
engine went there. Here a kernel that another one calls is only translated; the kernel that Python calls, or a
`Part` that others call by its address, is optimised once with everything below it, and kept on disk.

Numba's file cache stamps a compiled function with the contents of its own source file only, so an edit
of a callee in another file leaves the caller's cached machine code in place, silently. Here the stamp
is one hash over every kernel source of the project, every tolerance module and the versions of the
compilers: any edit invalidates every kept kernel, and no stale caller can survive.
"""

import functools
import hashlib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy
from llvmlite import ir
from llvmlite.binding import Linkage
from numba import types
from numba.core import caching, cgutils, compiler
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from .compile_ahead import AHEAD
from .compile_notice import Stage, tell
from .interrupts import interrupts_wait
from .kernel_lock import KernelLock
from .shipped_kernels import shipped_folders

_KERNEL_SOURCES = ("kernels.py", "tolerances.py")


@cache
def kernel_stamp() -> str:
    """Hash of everything that compiled kernels depend on: sources, tolerances, versions and checks of compilers."""
    digest = hashlib.sha256()
    here = Path(__file__).resolve()
    rooms = here.parent.parent if here.parent.name == "face" else here.parent
    sources = {path for ending in _KERNEL_SOURCES for path in rooms.glob(f"*/**/*{ending}")}
    for path in [here, *sorted(sources)]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    for module in (numba, llvmlite, numpy):
        digest.update(module.__version__.encode())
    digest.update(str(numba.config.BOUNDSCHECK).encode())
    return digest.hexdigest()


def _with_project_stamp(locator: type) -> type:
    """The same place for cached files, stamped with the whole project's kernels."""

    class ProjectLocator(locator):
        def get_source_stamp(self) -> str:
            return kernel_stamp()

    ProjectLocator.__name__ = ProjectLocator.__qualname__ = f"Project{locator.__name__.lstrip('_')}"
    return ProjectLocator


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012
        _with_project_stamp(locator) for locator in caching.CompileResultCacheImpl._locator_classes
    ]


class _KernelCache(caching.FunctionCache):
    """Kernels on disk. What is not there yet is compiled by one process, which holds a lock from when it has found
    that until it has saved it, or failed; the others wait."""

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable):
        super().__init__(function)
        index = Path(self._cache_file._index_path)
        self._lock = KernelLock(Path(f"{index}.lock"))
        self._kernel = f"{function.__module__.removeprefix('carom.')}.{function.__name__}"
        self._folder = index.parent

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        self._tell(Stage.LOOKED_FOR)
        found = super().load_overload(signature, target_context) or self._shipped(signature, target_context)
        if found is None:
            self._impl.locator.ensure_cache_path()
            self._tell(Stage.AWAITED)
            self._lock.acquire()
            found = super().load_overload(signature, target_context)  # another may have been quicker
            if found is None:
                self._call_for_help()
        if found is not None:
            self.done()
        else:
            self._tell(Stage.COMPILED)
        return found

    def _call_for_help(self) -> None:
        try:
            AHEAD.call_for_help()
        except ValueError:  # a setting that is none
            self.done()
            raise

    def _shipped(self, signature: Any, target_context: Any) -> Any:
        """What came with the package for processors of this kind, or None."""
        key = self._index_key(signature, target_context.codegen())
        for kind, folder in shipped_folders(self._py_func.__module__):
            kept = caching.IndexDataCacheFile(str(folder), self._impl.filename_base, kernel_stamp())
            found = kept.load((key[0], (key[1][0], kind, ""), key[2]))
            if found is not None:
                return self._impl.rebuild(target_context, found)
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            super().save_overload(signature, compiled)
            self._tell(Stage.KEPT)
        finally:
            self.done()

    def done(self) -> None:
        """Nothing is being compiled any more."""
        self._lock.release()
        self._tell(Stage.ENDED)

    def _tell(self, stage: Stage) -> None:
        tell(stage, self._kernel, self._folder)


def _source_of(function: Callable) -> None:
    source = Path(function.__code__.co_filename).name
    if not source.endswith(_KERNEL_SOURCES[0]):
        raise ValueError(
            f"kernel {function.__name__!r} must live in a file ending in 'kernels.py', not {source!r}"
        )


class _InnerLibrary(JITCodeLibrary):
    """Code that is only linked into that of callers: neither optimised on its own nor made executable."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        _link(self)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return _NO_ENVIRONMENT


class _NoEnvironment:
    """Stands for the generator of code that is not executable, and so takes no environment."""

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set."""


_NO_ENVIRONMENT = _NoEnvironment()


class _EntryLibrary(JITCodeLibrary):
    """Code that is optimised with all it calls, at once, for short loops.

    What it calls is its own, so that arguments that nobody needs are not handed over: those of arrays are many, and
    handing them over took a fifth of the time of an engine step. Not so where threads call parts of it.
    """

    in_parallel = False
    vectorised = False

    def _optimize_final_module(self) -> None:
        for function in () if self.in_parallel else self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
                function.name = f"{function.name}.of.{self.name}"  # else code of others is taken to mean it
        manager, builder = self._codegen._module_pass_manager(
            loop_vectorize=self.vectorised, slp_vectorize=False
        )
        manager.run(self._final_module, builder)


def _link(library: JITCodeLibrary) -> None:
    """Link what a library calls into it."""
    seen = set()
    for other in library._linking_libraries:
        if other not in seen:
            seen.add(other)
            library._reload_init.update(other._reload_init)
            library._final_module.link_in(other._get_module_for_linking(), preserve=True)


def _refuse_lost_arrays(name: str, counts: bool, compiled: Any) -> None:
    """TypeError where a kernel that does not count references gets an array from one that does, and would never
    give it back, or the other way round, and would give it back twice."""
    kinds = compiled.type_annotation.typemap
    for called, signature in compiled.type_annotation.calltypes.items():
        callee = kinds.get(called.func.name) if getattr(called, "op", "") == "call" else None
        if not isinstance(callee, types.Dispatcher):
            continue
        callee = callee.dispatcher
        other = callee.targetoptions["_nrt"]
        if other != counts and not callee.lends and _holds_arrays(signature.return_type):
            raise TypeError(
                f"kernel {name!r} has allocates={counts}, but gets an array from {callee.py_func.__name__!r}, "
                f"which has allocates={other}: expected both to be the same, or arrays that it lends"
            )


def _holds_arrays(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(_holds_arrays(one) for one in kind)
    return isinstance(kind, types.Array)


class _LibraryCompiler(_FunctionCompiler):
    """Compiles into a library of a class of ours."""

    library_class: type = _EntryLibrary
    vectorised = False
    cache: _KernelCache | None = None

    def compile(self, args: Any, return_type: Any) -> Any:
        try:
            return super().compile(args, return_type)
        except BaseException:
            if self.cache is not None:
                self.cache.done()
            raise

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags = self._customize_flags(flags)
        context = self.targetdescr.target_context
        library = self.library_class(context.codegen(), self.py_func.__qualname__)
        library.in_parallel = self.targetoptions.get("parallel", False)
        library.vectorised = self.vectorised
        library.enable_object_caching()
        compiled = compiler.compile_extra(
            self.targetdescr.typing_context, context, self.py_func,
            args=args, return_type=return_type, flags=flags, locals=self.locals, library=library,
            pipeline_class=self.pipeline_class,
        )  # fmt: skip
        if compiled.typing_error is not None:
            raise compiled.typing_error
        _refuse_lost_arrays(self.py_func.__name__, self.targetoptions["_nrt"], compiled)
        return compiled


class _InnerCompiler(_LibraryCompiler):
    library_class = _InnerLibrary


class _PartCompiler(_LibraryCompiler):
    """As `_LibraryCompiler`, with a wrapper for C and none for Python."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = False
        flags.no_compile = True
        flags.enable_pyobject = False
        return flags


def _dispatcher_of(function: Callable, options: dict[str, Any], compiler_class: type) -> Any:
    options = dict(options)
    lends, vectorised = options.pop("lends"), options.pop("vectorised")
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
    dispatcher.lends = lends
    plain = dispatcher._compiler
    dispatcher._compiler = compiler_class(
        plain.py_func, plain.targetdescr, plain.targetoptions, plain.locals, plain.pipeline_class
    )
    dispatcher._compiler.vectorised = vectorised
    # Ctrl-C in the midst of it is lost where LLVM's objects are let go, or lets them go twice
    dispatcher.compile = interrupts_wait()(dispatcher.compile)
    _forget_constants(dispatcher)
    return dispatcher


def _forget_constants(dispatcher: Any) -> None:
    """Let calls with different constants share one compiled version: numba makes one for each number otherwise."""
    known = dispatcher.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        return known(
            tuple(types.unliteral(kind) for kind in arguments),
            {name: types.unliteral(kind) for name, kind in keywords.items()},
        )

    dispatcher.get_call_template = get_call_template


class Kernel:
    """A compiled function that Python and other kernels can call.

    py_func : the function as it was written
    """

    def __init__(self, function: Callable, options: dict[str, Any]):
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options

    @functools.cached_property
    def entry(self) -> Any:
        """What Python calls: compiled when it first does, and kept on disk."""
        dispatcher = _dispatcher_of(self.py_func, self._options, _LibraryCompiler)
        dispatcher._cache = dispatcher._compiler.cache = _KernelCache(self.py_func)
        return dispatcher

    @functools.cached_property
    def inner(self) -> Any:
        """What other kernels call: only translated, and compiled with them."""
        return _dispatcher_of(
            self.py_func,
            self._options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True},
            _InnerCompiler,
        )

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.inner)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.entry(*arguments)
        except SystemError as error:  # of an interrupt while numba makes what the kernel returned
            cause: BaseException | None = error
            while isinstance(cause, SystemError):
                cause = cause.__cause__
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            raise


_KINDS = {"int64": types.int64, "float64": types.float64, "bool": types.boolean}


def argument_kinds(words: list[str]) -> tuple[Any, ...]:
    """Kinds of arguments in numba's terms: ``int64``, ``float64``, ``bool``, ``float64 2`` for an array of two
    dimensions.

    >>> argument_kinds(["int64", "float64 2"])
    (int64, Array(float64, 2, 'C', False, aligned=True))
    """
    made = []
    for word in words:
        name, _, dimensions = word.partition(" ")
        made.append(types.Array(_KINDS[name], int(dimensions), "C") if dimensions else _KINDS[name])
    return tuple(made)


def kinds_in_words(kinds: Any) -> list[str] | None:
    """What `argument_kinds` would take for these, None where it has no words for one of them."""
    words = []
    for kind in kinds:
        array = isinstance(kind, types.Array)
        word = f"{kind.dtype} {kind.ndim}" if array else str(kind)
        if word.partition(" ")[0] not in _KINDS or argument_kinds([word])[0] != kind:
            return None
        words.append(word)
    return words


def kernel(
    *, allocates: bool = False, lends: bool = False, vectorised: bool = False, **options: Any
) -> Callable[[Callable], Any]:
    """Compile a function with numba in nopython mode, released from the interpreter lock and kept on disk.

    The function must live in a file whose name ends in ``kernels.py``: only those are hashed. Unless it
    ``allocates`` it makes no arrays but those of `on_stack`, and gets none from what it calls: then references to
    its arrays are not counted, which takes up to nine tenths of the time of a small kernel. One that ``lends``
    returns arrays that belong to no one, as those at an address: a tuple of them, or it ``allocates`` too.
    Where Python calls it, loops of one that is ``vectorised`` take several numbers at once, to the same bits: a
    pivot of 48 unknowns takes half as long. It costs compiling, and loops over three or six numbers gain nothing.
    """
    options |= {"_nrt": allocates, "lends": lends, "vectorised": vectorised}

    def compile_lazily(function: Callable) -> Any:
        _source_of(function)
        if numba.config.DISABLE_JIT:
            return function
        return Kernel(function, options)

    return compile_lazily


class Part:
    """A compiled function (world, i, j) -> code of whole numbers, which others call by its `address`.

    A caller neither contains nor waits for the machine code of what it calls so: each part is compiled once, on
    its own, and only where its address is asked for. A call costs 2 ns. See `call`.
    """

    def __init__(self, function: Callable, allocates: bool):
        _source_of(function)
        self._function = function
        self._allocates = allocates
        self.name = function.__name__
        self.__doc__ = function.__doc__

    @property
    def address(self) -> int:
        """Where its machine code is; compiled, or read from the disk, when first asked for."""
        return int(_compiled_part(self._function, self._allocates).address)


@cache
@interrupts_wait()
def _compiled_part(function: Callable, allocates: bool) -> Any:
    options = {"nopython": True, "error_model": "numpy", "_nrt": allocates}
    compiled: Any = CFunc(function, ((types.int64,) * 3, types.int64), {}, options)
    compiled._compiler = _PartCompiler(
        function, compiled._targetdescr, options, {}, compiled._compiler.pipeline_class
    )
    compiled._cache = compiled._compiler.cache = _KernelCache(function)
    compiled.compile()
    return compiled


def part(*, allocates: bool = False) -> Callable[[Callable], Part]:
    """Make a kernel that is called by its address, see `Part`; it must live in a file of kernels too, and
    `allocates` as `kernel` says."""
    return functools.partial(Part, allocates=allocates)


@intrinsic
def call(_context: Any, address: Any, world: Any, i: Any, j: Any) -> Any:
    """In a kernel: the part at this address, called with (world, i, j)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        kind = ir.FunctionType(whole, [whole] * 3)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate


def record_at(record: Any) -> Any:
    """In a kernel: ``opened(address)`` is the record of a numpy dtype that lies at this address."""
    entry = numba.from_dtype(record)

    @intrinsic
    def opened(_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return entry(types.int64), generate

    return opened


def rows_at(record: Any, row: tuple[int, ...] = ()) -> Any:
    """In a kernel: ``opened(address, count)`` is the array of so many rows that lies at this address."""
    kind = types.Array(numba.from_dtype(record), 1 + len(row), "C")

    @intrinsic
    def opened(_context: Any, address: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _array_at(context, builder, kind, record, row, *arguments)

        return kind(types.int64, types.int64), generate

    return opened


def matrix_at(record: Any) -> Any:
    """In a kernel: ``opened(address, rows, columns)`` is the matrix of numbers that lies at this address."""
    kind = types.Array(numba.from_dtype(record), 2, "C")

    @intrinsic
    def opened(_context: Any, address: Any, rows: Any, columns: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, rows, columns = arguments
            return _array_at(context, builder, kind, record, (columns,), address, rows)

        return kind(types.int64, types.int64, types.int64), generate

    return opened


def table_opener(place: int, record: Any, row: tuple[int, ...]) -> Any:
    """In a kernel: ``opened(world)`` is a table; word `place` of the record at the address `world` is where it
    lies, and two words further stands how many rows it has room for."""
    kind = types.Array(numba.from_dtype(record), 1 + len(row), "C")

    @intrinsic
    def opened(_context: Any, world: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = ir.IntType(64)
            words = builder.inttoptr(arguments[0], whole.as_pointer())
            address, room = (
                builder.load(builder.gep(words, [ir.Constant(whole, place + k)])) for k in (0, 2)
            )
            return _array_at(context, builder, kind, record, row, address, room)

        return kind(types.int64), generate

    return opened


def on_stack(*shape: int, whole: bool = False) -> Any:
    """In a kernel: ``made()`` is an array of floats, or whole numbers, of this shape that lasts as long as the call
    of the kernel that makes it, and must not be returned; one and the same each time the kernel comes there."""
    number = types.int64 if whole else types.float64
    kind, count = types.Array(number, len(shape), "C"), math.prod(shape)

    @intrinsic
    def made(_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            room = cgutils.alloca_once(builder, ir.ArrayType(context.get_value_type(number), count))
            address = builder.ptrtoint(room, ir.IntType(64))
            rows = ir.Constant(ir.IntType(64), shape[0])
            return _array_at(context, builder, kind, numpy.dtype(str(number)), shape[1:], address, rows)

        return kind(), generate

    return made


def _array_at(
    context: Any, builder: Any, kind: Any, record: Any, row: tuple[Any, ...], address: Any, count: Any
) -> Any:
    """An array of so many rows at an address, which it does not own; widths of rows are known, or values."""
    whole = ir.IntType(64)
    array = context.make_array(kind)(context, builder)
    size = ir.Constant(whole, numpy.dtype(record).itemsize)
    widths = [ir.Constant(whole, width) if isinstance(width, int) else width for width in row]
    strides = [size]
    for width in reversed(widths):
        strides.insert(0, builder.mul(strides[0], width))
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=[count, *widths],
        strides=strides,
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()
