from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import (
    EnvironmentModifications,
    conflicts,
    depends_on,
    join_path,
    license,
    variant,
    version,
    which,
)


class Drl(CMakePackage, CudaPackage):
    """Reinforcement learning on Slurm clusters: one MPI program, started by srun, one process
    per GPU or CPU core."""

    # The checkout that holds this recipe. spack.yaml builds its files as they are (develop); any
    # other environment builds its branch main.
    git = Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    sanity_check_is_file = [join_path("bin", name) for name in ("drl_train", "drl_eval", "drl_doctor")]

    version("develop", branch="main")

    variant("tests", default=False, description="Build the tests")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("googletest", type=("build", "link"), when="+tests")

    depends_on("mpi")
    depends_on("hwloc@2:")
    depends_on("hdf5@1.10: ~mpi")  # rank 0 alone writes
    depends_on("boost@1.74: +program_options")
    depends_on("spdlog@1.10:")
    depends_on("nlohmann-json@3.11:")

    depends_on("cuda@12:", when="+cuda")  # nvcc that knows C++20; cuBLAS
    depends_on("nccl", when="+cuda")

    depends_on("py-torch@1.13:")  # libtorch
    depends_on("py-torch ~cuda", when="~cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
        depends_on(f"py-torch +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90 (H100), 80 (A100)")
    conflicts("%gcc@:10", msg="C++20 needs GCC 11 or newer")

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        # TorchConfig.cmake looks for libtorch.so in the system's folders before its own.
        packages = join_path(self.spec["py-torch"].prefix, self.spec["python"].package.platlib)
        env.prepend_path("CMAKE_PREFIX_PATH", join_path(packages, "torch"))

    def cmake_args(self):
        args = [
            self.define_from_variant("DRL_TESTS", "tests"),
            self.define("DRL_BENCHMARKS", False),
            self.define_from_variant("DRL_WITH_CUDA", "cuda"),
        ]
        if self.spec.satisfies("+cuda"):
            archs = self.spec.variants["cuda_arch"].value
            args += [
                self.define("DRL_CUDA_ARCHITECTURES", archs),
                self.define("TORCH_CUDA_ARCH_LIST", self.compute_capabilities(archs)),
            ]
        return args

    def test_list_tasks(self):
        """the installed drl_train lists its tasks"""
        drl_train = which(self.prefix.bin.drl_train)
        assert "Cartpole" in drl_train("--list_tasks", output=str)
