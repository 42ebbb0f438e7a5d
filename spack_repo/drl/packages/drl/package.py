from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import (
    EnvironmentModifications,
    ancestor,
    conflicts,
    depends_on,
    determine_number_of_jobs,
    join_path,
    license,
    variant,
    version,
    which,
    working_dir,
)

# The address where drl is published. It is not published yet: spack.yaml builds a checkout. To use
# a tarball of tools/make_release in a local directory, change this line to file:///path/to.
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

    built_from = "CMakeLists.txt LICENSE README.md batch cmake docs include modules src tests".split()

    version("develop", branch="main")
    version("0.1.0", sha256="7aa70ba6648662cf3a8a69c1bf8104119643760ff5bcb614ee5f059aadfb891d")

    variant("torch", default=True, description="libtorch, for --nets torch")
    # Spack has no recipe of MuJoCo: run tools/fetch_mujoco in the checkout, or set MUJOCO_ROOT.
    variant("mujoco", default=False, description="Robots, which need MuJoCo 3.5.0")
    variant("rocm", default=False, description="AMD GPUs (not supported yet)")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("googletest@1.12:", type="test")

    depends_on("mpi")
    depends_on("hwloc@2.1:")
    depends_on("hdf5@1.10: ~mpi")  # only rank 0 writes
    depends_on("boost@1.74: +program_options")
    depends_on("spdlog@1.10:")
    depends_on("nlohmann-json@3.11:")

    # Runs open libtorch if they need it, and only on the CPU. Runs on GPUs do not use it, so with
    # +cuda any libtorch will do.
    depends_on("py-torch@1.13:", when="+torch")
    depends_on("py-torch ~cuda", when="+torch ~cuda")

    depends_on("libpng@1.6:", when="+mujoco")  # videos
    depends_on("giflib@5:", when="+mujoco")

    depends_on("cuda@12:", when="+cuda")  # provides cuBLAS, and an nvcc for C++20
    depends_on("nccl", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90 (H100), 80 (A100)")
    conflicts("+rocm", msg="drl has no HIP code: install ~rocm, and run with --device cpu there")
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

    def cmake_args(self):
        args = [
            self.define("DRL_TESTS", False),
            self.define("DRL_BENCHMARKS", False),
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
