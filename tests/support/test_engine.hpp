#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "algorithms/learner_parts.hpp"

namespace drl::test {

// An engine whose networks a function makes.
class TestEngine final : public Engine {
 public:
  using MakeNets = std::function<std::unique_ptr<Nets>(const ParamLayout&)>;
  explicit TestEngine(MakeNets make, bool graphs = true) : make_(std::move(make)), graphs_(graphs) {}
  std::unique_ptr<Nets> make_nets(const ParamLayout& layout, int64_t) override { return make_(layout); }
  bool records_graphs() const override { return graphs_; }

 private:
  MakeNets make_;
  bool graphs_;
};

}  // namespace drl::test
