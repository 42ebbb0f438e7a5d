// Computes the outputs of a TorchScript module by libtorch: run_script MODULE INPUTS reads rows of INPUTS numbers from
// stdin, and prints a row of outputs for each.
#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  torch::jit::Module module = torch::jit::load(argv[1]);
  std::vector<float> row(std::stoul(argv[2]));
  for (;;) {
    for (float& number : row)
      if (!(std::cin >> number)) return 0;
    const at::Tensor input = at::from_blob(row.data(), {1, static_cast<int64_t>(row.size())}, at::kFloat);
    const at::Tensor output = module.forward({input}).toTensor().to(at::kDouble).contiguous();
    for (int64_t k = 0; k < output.numel(); ++k) std::printf("%.9g ", output.data_ptr<double>()[k]);
    std::printf("\n");
  }
}
