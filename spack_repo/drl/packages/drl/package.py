from os import environ
from pathlib import Path
from zipfile import ZipFile

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import (
    EnvironmentModifications,
    Executable,
    ancestor,
    conflicts,
    depends_on,
    determine_number_of_jobs,
    join_path,
    license,
    resource,
    run_before,
    variant,
    version,
    which,
    working_dir,
)

# The address where drl is published. It is not published yet: spack.yaml builds a checkout. To use
# a tarball of tools/make_release --recipe, put it into /path/to/releases, and write file:///path/to.
PUBLISHED = "https://example.org/drl"


class Drl(CMakePackage, CudaPackage):
    """Reinforcement learning on Slurm clusters: one MPI program, started by srun, one process
    per GPU or CPU core."""

    homepage = PUBLISHED
    url = f"{PUBLISHED}/releases/drl-0.1.0.tar.gz"
    git = f"{PUBLISHED}.git"

    license("BSD-3-Clause")

    programs = ("drl_train", "drl_eval", "drl_checkpoint", "drl_doctor")
    sanity_check_is_file = [join_path("bin", program) for program in programs]

    built_from = (
        "CHANGELOG.md CITATION.cff CMakeLists.txt CONTRIBUTING.md LICENSE README.md batch cmake docs examples include"
        " modules src tests"
    ).split()

    version("develop", branch="main")
    version("0.1.0", sha256="7aa70ba6648662cf3a8a69c1bf8104119643760ff5bcb614ee5f059aadfb891d")

    mujoco_wheels = {
        "x86_64": "1cea4f32972ade944fef7a9b586272a83352bf0c6404455d7ea56d7f9edaa136",
        "aarch64": "4f132a6ae0de32ebb56058f7d31f7a489226210882957014ba54d9289cf1a674",
    }

    variant("torch", default=False, description="libtorch, for --nets torch")
    variant("mujoco", default=True, description="Robots and videos, which need MuJoCo 4.0.0")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("googletest@1.12:", type="test")

    depends_on("mpi")
    depends_on("hwloc@2.1:")
    depends_on("hdf5@1.10:")  # with or without MPI: only rank 0 writes
    depends_on("boost@1.74: +program_options")
    depends_on("spdlog@1.10:")
    depends_on("nlohmann-json@3.11:")

    # Runs open libtorch if they need it, and only on the CPU. Runs on GPUs do not use it, so with
    # +cuda any libtorch will do.
    depends_on("py-torch@1.13:", when="+torch")
    depends_on("py-torch ~cuda", when="+torch ~cuda")

    # Spack has no recipe of MuJoCo 4. A release fetches the wheel of tools/fetch_mujoco. A checkout has no resources, so
    # the recipe calls tools/fetch_mujoco, unless MUJOCO_ROOT is set.
    for target, checksum in mujoco_wheels.items():
        resource(
            name=f"mujoco-{target}",
            url=f"https://pypi.io/packages/cp312/m/mujoco-core/mujoco_core-4.0.0-cp312-cp312-manylinux_2_27_{target}."
            f"manylinux_2_28_{target}.whl",
            sha256=checksum,
            expand=False,
            placement="mujoco_wheel",
            when=f"+mujoco target={target}:",
        )

    depends_on("python@3:", type="build", when="@develop +mujoco")  # for tools/fetch_mujoco
    depends_on("libpng@1.6:", when="+mujoco")  # videos
    depends_on("giflib@5:", when="+mujoco")

    depends_on("cuda@12:", when="+cuda")  # provides cuBLAS, and an nvcc for C++20
    depends_on("nccl", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90 (H100), 80 (A100)")
    conflicts("%gcc@:10", msg="C++20 needs GCC 11 or newer")

    def detect_dev_src_change(self) -> bool:
        """returns True if a source file is newer than the installation"""
        # Other files do not count, because an environment in the checkout writes there too.
        checkout = Path(self.spec.variants["dev_path"].value)
        installed = Path(self.prefix).stat().st_mtime
        sources = [checkout / name for name in self.built_from]
        inside = [file for source in sources for file in source.rglob("*")]
        return any(file.lstat().st_mtime > installed for file in sources + inside)

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("~torch"):
            return
        # <libtorch>/share/cmake/Torch looks for libtorch.so in the system's directories first.
        for cmake_files in self.spec["py-torch"].package.cmake_prefix_paths:
            env.prepend_path("CMAKE_PREFIX_PATH", ancestor(cmake_files, 2))

    @run_before("cmake")
    def unpack_mujoco(self) -> None:
        """puts libmujoco where tools/fetch_mujoco does; cmake finds and installs it there"""
        source = Path(self.stage.source_path)
        is_dev = self.spec.satisfies("+mujoco") and "dev_path" in self.spec.variants
        if is_dev and "MUJOCO_ROOT" not in environ:
            Executable(str(source / "tools/fetch_mujoco"))()
        for wheel in source.glob("mujoco_wheel/*.whl"):
            with ZipFile(wheel) as files:
                files.extractall(source / "mujoco_wheel")
            folder = source / "build" / "mujoco"
            (folder / "lib").mkdir(parents=True)
            (source / "mujoco_wheel/mujoco/include").rename(folder / "include")
            (source / "mujoco_wheel/mujoco/libmujoco.so.4.0.0").rename(
                folder / "lib/libmujoco.so.4.0.0"
            )
            (folder / "lib/libmujoco.so").symlink_to("libmujoco.so.4.0.0")
            (source / "mujoco_wheel/mujoco_core-4.0.0.dist-info/licenses").rename(folder / "licenses")

    def cmake_args(self):
        args = [
            self.define("DRL_ISAS", "all"),
            self.define_from_variant("DRL_WITH_CUDA", "cuda"),
            self.define_from_variant("DRL_WITH_MUJOCO", "mujoco"),
            self.define_from_variant("DRL_WITH_TORCH", "torch"),
        ]
        if self.spec.satisfies("+cuda"):
            archs = self.spec.variants["cuda_arch"].value
            args += [
                self.define("DRL_CUDA_ARCHITECTURES", archs),
                self.define("TORCH_CUDA_ARCH_LIST", self.compute_capabilities(archs)),
            ]
        return args

    def check(self) -> None:
        """the tests that need no MPI launcher, no GPU and no Slurm"""
        cmake, ctest = which("cmake", required=True), which("ctest", required=True)
        jobs = str(determine_number_of_jobs(parallel=True))
        with working_dir(self.build_directory):
            cmake("-DDRL_TESTS=ON", ".")
            cmake("--build", ".", "--target", "cpu_tests", "--parallel", jobs)
            ctest("--label-regex", "^cpu$", "--no-tests=error", "--output-on-failure")
            cmake("-DDRL_TESTS=OFF", ".")  # a checkout's build directory is used again

    def test_list_tasks(self):
        """the installed drl_train lists its tasks"""
        drl_train = which(self.prefix.bin.drl_train)
        assert "Cartpole" in drl_train("--list_tasks", output=str)
