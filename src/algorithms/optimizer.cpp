#include "algorithms/optimizer.hpp"

#include "algorithms/fused_step.hpp"
#include "base/check.hpp"

namespace drl {

int64_t Gradients::add(int64_t count) {
  DRL_CHECK(buffer_.empty(), "gradients must be added before the first step");
  constexpr int64_t aligned = ParamLayout::kAligned;
  const int64_t offset = (size_ + aligned - 1) / aligned * aligned;
  size_ = offset + count;
  return offset;
}

float* Gradients::at(int64_t offset) {
  if (buffer_.empty()) buffer_ = Array<float>(queue_, static_cast<size_t>(size_));
  return buffer_.data() + offset;
}

void Gradients::enqueue_all_reduce(Communicator& comm) {
  const Queue::Range range(queue_, "all-reduce");
  comm.all_reduce_sum(std::span<float>(buffer_), {queue_.native()});
}

Optimizer::Optimizer(Queue& queue, Gradients& gradients, const ParamLayout& layout, float* params,
                     const OptimizerSettings& settings)
    : queue_(queue),
      gradients_(gradients),
      layout_(layout),
      params_(params),
      rule_(settings.rule),
      bounds_(settings.bounds),
      columns_(settings.loss_columns),
      remedy_(settings.remedy),
      place_(gradients.add(layout.size() + columns_)),
      m_(queue_, static_cast<size_t>(layout.size())),
      v_(queue_, rule_.type == OptimizerType::sgd ? 0 : m_.size()),
      scratch_(queue_, sum_scratch(queue_, GradientSquares::kColumns)),
      numbers_(queue_, 1),
      host_numbers_(queue_, 1, Memory::host) {
  DRL_CHECK(columns_ <= kMaxLossColumns, "the loss has more columns than UpdateNumbers::sums");
  DRL_CHECK(settings.groups.size() <= kMaxGroups && settings.groups.back().end == layout.size(),
            "there are too many groups of parameters, or they do not cover the layout");
  rule_.num_groups = groups_.count = static_cast<int32_t>(settings.groups.size());
  for (size_t g = 0; g < settings.groups.size(); ++g) {
    rule_.groups[g] = settings.groups[g].rule, groups_.end[g] = settings.groups[g].end;
    group_names_.push_back(settings.groups[g].name);
  }
  restart_learning_rate();
}

void Optimizer::enqueue_begin() { for_each(queue_, 1, RestartUpdate{numbers()}); }

void Optimizer::enqueue_step() {
  const StepTarget target{numbers(), gradient(), params_, groups_, bounds_};
  if (rule_.type == OptimizerType::sgd) return enqueue(SgdStep{target, m_.data(), static_cast<float>(rule_.momentum)});
  enqueue(AdamStep{target, m_.data(), v_.data()});
}

// Enqueues the step, after the norms of the gradient and what follows from them.
template <class Step>
void Optimizer::enqueue(const Step& step) {
  const int64_t count = layout_.size();
  const float* tail = gradient() + count;
  const GradientSquares squares{gradient(), tail, groups_};
  const PrepareStep prepare{numbers(), tail, columns_, rule_};
  if (GpuBlocks<OneBlockStep<Step>>::launch && queue_.on_gpu() && count <= kOneBlockParameters)
    return for_each_block(queue_, 1, OneBlockStep<Step>::kShared, OneBlockStep<Step>{squares, prepare, step, count});
  sum_columns(queue_, count, GradientSquares::kColumns, scratch_.data(), squares,
              StoreTo{&numbers()->squared_norms[0]});
  for_each(queue_, 1, prepare);
  for_each(queue_, count, step);
}

void Optimizer::enqueue_end() { queue_.copy(host_numbers_.data(), numbers(), 1); }

void Optimizer::end() const {
  if (const int32_t group = host_numbers_[0].not_finite; group > 0)
    throw SharedError("the " + group_names_[static_cast<size_t>(group - 1)] +
                      "'s gradient is not finite (learning has diverged): lower " + remedy_ +
                      "; the last checkpoint was saved before this happened");
}

void Optimizer::restart_learning_rate() {
  queue_.copy(&numbers()->learning_rate, &rule_.groups[0].learning_rate, 1);
  queue_.synchronize();
}

void Optimizer::visit_state(StateVisitor& visitor, const std::string& name) {
  visitor.scalar(name + "/steps", numbers()->optimizer_steps, &queue_);
  const bool has_momentum = rule_.type == OptimizerType::sgd;
  visit_as_parameters(visitor, name + (has_momentum ? "/momentum" : "/m"), layout_, m_.data(), queue_);
  if (!has_momentum) visit_as_parameters(visitor, name + "/v", layout_, v_.data(), queue_);
}

void Optimizer::visit_learning_rate(StateVisitor& visitor, const std::string& name) {
  visitor.scalar(name + "/learning_rate", numbers()->learning_rate, &queue_);
}

void visit_as_parameters(StateVisitor& visitor, const std::string& name, const ParamLayout& layout, float* numbers,
                         Queue& queue) {
  StateField field{name, DType::f32, {layout.count()}, nullptr, Sharding::replicated, &queue};
  for (const ParamSlice& slice : layout.slices()) field.parts.push_back({numbers + slice.offset, slice.count()});
  visitor.field(field);
}

}  // namespace drl
