#include "comm/shard_team.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "comm/tree_sum.hpp"

namespace drl {

// A shard as a rank.
class ShardTeam::Shard final : public Communicator {
 public:
  Shard(ShardTeam& team, int number) : team_(team), number_(number) {}
  int rank() const override { return team_.ranks_.rank() * count() + number_; }
  int size() const override { return team_.ranks_.size() * count(); }
  const char* kind_of_rank() const override { return "shard"; }
  void computes() override {
    if (std::this_thread::get_id() == team_.caller_) team_.ranks_.computes();
  }
  bool failed() const override { return team_.ranks_.failed(); }
  void abort(int exit_code) override { team_.ranks_.abort(exit_code); }

 protected:
  void do_all_reduce_sum(std::span<float> data, Stream) override { team_.all_reduce(number_, data); }
  void do_all_reduce_sum(std::span<double> data, Stream) override { team_.all_reduce(number_, data); }
  void do_broadcast(std::span<std::byte>, int, bool) override { refuse(); }
  std::vector<std::byte> do_gather(std::span<const std::byte>, int) override { refuse(); }
  void do_scatter(std::span<const std::byte>, std::span<std::byte>, int) override { refuse(); }

 private:
  int count() const { return static_cast<int>(team_.shards_.size()); }
  [[noreturn]] static void refuse() { throw std::logic_error("shards only add; processes transfer data"); }

  ShardTeam& team_;
  int number_;
};

ShardTeam::ShardTeam(int shards, Communicator& ranks)
    : ranks_(ranks), threads_(shards), data_(static_cast<size_t>(shards)) {
  for (int k = 0; k < shards; ++k) shards_.push_back(std::make_unique<Shard>(*this, k));
  ranks_.add_in_tree();
}

ShardTeam::~ShardTeam() = default;

// No shard waits for another one that has not begun: there are as many threads as shards, and each shard waits for all
// others in each all-reduce, so that no thread takes two.
void ShardTeam::run(const std::function<void(int shard, Communicator& comm)>& work) {
  caller_ = std::this_thread::get_id();
  arrived_ = 0, failure_ = nullptr;
  threads_.run(static_cast<int64_t>(shards_.size()), [&](int64_t k) {
    try {
      work(static_cast<int>(k), *shards_[static_cast<size_t>(k)]);
    } catch (const Abandoned&) {
    } catch (...) {
      fail(std::current_exception());
    }
  });
  if (failure_) std::rethrow_exception(failure_);
}

void ShardTeam::fail(std::exception_ptr why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(why);
  }
  changed_.notify_all();
}

// The calling thread adds when all shards have arrived, and the others wait meanwhile.
template <class T>
void ShardTeam::all_reduce(int shard, std::span<T> data) {
  std::unique_lock lock(mutex_);
  data_[static_cast<size_t>(shard)] = data.data();
  if (arrived_++ == 0) bytes_ = data.size_bytes();
  DRL_CHECK(data.size_bytes() == bytes_, "shards add arrays of different sizes");
  const bool adds = std::this_thread::get_id() == caller_;
  if (arrived_ == shards_.size()) changed_.notify_all();
  const int64_t sums = sums_;
  changed_.wait(lock, [&] { return failure_ || (adds ? arrived_ == shards_.size() : sums_ > sums); });
  if (!adds && sums_ > sums) return;
  if (failure_) throw Abandoned();
  lock.unlock();
  std::vector<T*> parts;
  for (void* part : data_) parts.push_back(static_cast<T*>(part));
  add_in_tree(std::span<T* const>(parts), data.size());
  const std::span<T> sum(parts.front(), data.size());
  ranks_.all_reduce_sum(sum);
  for (T* part : parts)
    if (part != sum.data()) std::ranges::copy(sum, part);
  lock.lock();
  arrived_ = 0, ++sums_;
  changed_.notify_all();
}

}  // namespace drl
