#include "film/film_writer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <string>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 1024;

// A file that gets its name only when it is complete. An incomplete one leaves nothing, even if the process is killed,
// except FILE.part during the final copy in keep().
class UnnamedFile {
 public:
  explicit UnnamedFile(const fs::path& file) : file_(file) {
    const fs::path directory = file.has_parent_path() ? file.parent_path() : ".";
    if (access(directory.c_str(), W_OK) != 0 || fs::is_directory(file))
      throw UsageError(
          "--video " + printable(file.string(), 200) +
          " cannot be written (its directory is missing or read-only, or it is a directory): choose another file");
    content_ = create();
    unlink(part().c_str());
  }
  int descriptor() const { return content_; }
  // Returns a path that is valid in this process only.
  std::string path() const { return "/proc/self/fd/" + std::to_string(content_); }
  // Gives the file its name.
  void keep() const {
    Descriptor whole = create();
    const bool copied = copy_to(whole) && whole.close() == 0;
    if (copied && rename(part().c_str(), file_.c_str()) == 0) return;
    const int why = errno;
    unlink(part().c_str());
    throw_write_error(reason_of(why));
  }
  [[noreturn]] void throw_write_error(const std::string& why) const {
    throw Error("the video " + printable(file_.string(), 200) + " could not be written (" + why +
                "): solve this problem, or choose another file");
  }

 private:
  std::string part() const { return file_.string() + ".part"; }
  Descriptor create() const {
    unlink(part().c_str());
    Descriptor created(open(part().c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (created < 0) throw_write_error(reason_of(errno));
    return created;
  }
  bool copy_to(const Descriptor& to) const {
    std::vector<std::byte> piece(1 << 20);
    for (off_t at = 0;;) {
      const ssize_t n = pread(content_, piece.data(), piece.size(), at);
      if (n <= 0) return n == 0;
      if (!write_all(to, std::span(piece).first(static_cast<size_t>(n)))) return false;
      at += n;
    }
  }

  fs::path file_;
  Descriptor content_;
};

// Writes an mp4 with ffmpeg, which reads the pixels from a pipe.
class Mp4Writer final : public FilmWriter {
 public:
  Mp4Writer(const FilmPlan& plan, int threads) : file_(plan.file) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) file_.throw_write_error(reason_of(errno));
    const Descriptor read_end(ends[0]);
    pipe_ = Descriptor(ends[1]);
    const Descriptor messages(open(messages_.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    ChildSettings settings{
        .environment = environment_list(), .input = read_end, .output = file_.descriptor(), .errors = messages};
    // The output is not /proc/self/fd/N: wrappers of ffmpeg may not see our /proc.
    const std::string command = fmt::format(
        "ffmpeg -y -loglevel error -f rawvideo -pixel_format rgb24 -video_size {}x{} -framerate {} -i pipe:0 "
        "-pix_fmt yuv420p -threads {} -movflags +faststart -f mp4 /dev/stdout",
        plan.width, plan.height, std::llround(1 / plan.frame_seconds), threads);
    pid_ = spawn(split(command, ' '), settings);
    unlink(messages_.path().c_str());  // so that it does not remain if the process is killed
    if (pid_ < 0) file_.throw_write_error(std::string("ffmpeg: ") + reason_of(errno));
    before_ = std::signal(SIGPIPE, SIG_IGN);  // if ffmpeg ends early, write() fails instead
  }
  ~Mp4Writer() override {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    std::signal(SIGPIPE, before_);
  }

  void add(const std::vector<uint8_t>& rgb) override {
    if (!write_all(pipe_, std::as_bytes(std::span(rgb)))) end();
  }
  void finish() override {
    end();
    file_.keep();
  }

 private:
  // Waits until ffmpeg has read everything or has failed.
  void end() {
    pipe_.close();
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    if (const int code = shell_code(status); code != 0) {
      const std::string messages(trim(messages_.text()));
      file_.throw_write_error("ffmpeg ended with exit code " + std::to_string(code) +
                              (messages.empty() ? "" : ": " + printable(messages, 300)));
    }
  }

  UnnamedFile file_;
  TempFile messages_{"drl_ffmpeg"};  // ffmpeg's error messages
  Descriptor pipe_;
  pid_t pid_ = -1;
  sighandler_t before_ = SIG_DFL;
};

// Calls a function of the library. Throws Error if it cannot write the file.
template <class Function, class... Arguments>
void call(const UnnamedFile& file, Function function, Arguments... arguments) {
  char error[kErrorSize] = "";
  if (function(arguments..., error, kErrorSize) != kFilmed) file.throw_write_error(error);
}

class GifWriter final : public FilmWriter {
 public:
  GifWriter(const FilmPlan& plan, const FilmLibrary& library)
      : file_(plan.file), functions_(library.functions()), hundredths_(100 * plan.frame_seconds) {
    call(file_, functions_.open_gif, file_.path().c_str(), plan.width, plan.height, &gif_);
  }
  ~GifWriter() override {
    char ignored[kErrorSize];
    if (gif_) functions_.close_gif(gif_, ignored, kErrorSize);
  }

  // A GIF counts hundredths of a second: frames differ by 1/100 s, so that the video has the right length.
  void add(const std::vector<uint8_t>& rgb) override {
    const int64_t begin = std::llround(static_cast<double>(frames_) * hundredths_);
    const int64_t end = std::llround(static_cast<double>(++frames_) * hundredths_);
    call(file_, functions_.add_to_gif, gif_, rgb.data(), static_cast<int32_t>(end - begin));
  }
  void finish() override {
    call(file_, functions_.close_gif, std::exchange(gif_, nullptr));
    file_.keep();
  }

 private:
  UnnamedFile file_;
  const FilmPlugin& functions_;
  double hundredths_;  // duration of a frame in 1/100 s
  int64_t frames_ = 0;
  void* gif_ = nullptr;
};

// Writes a PNG: a sheet of pictures, row by row.
class PngWriter final : public FilmWriter {
 public:
  PngWriter(const FilmPlan& plan, const FilmLibrary& library)
      : file_(plan.file), functions_(library.functions()), width_(plan.width), height_(plan.height) {
    sheet_.resize(static_cast<size_t>(width_ * kSheetColumns) * static_cast<size_t>(height_ * kSheetRows) * 3, 255);
  }

  void add(const std::vector<uint8_t>& rgb) override {
    const int column = static_cast<int>(pictures_ % kSheetColumns), row = static_cast<int>(pictures_ / kSheetColumns);
    ++pictures_;
    const size_t line = static_cast<size_t>(width_) * 3;
    for (int y = 0; y < height_; ++y)
      std::copy_n(rgb.data() + y * line, line,
                  sheet_.data() + (static_cast<size_t>(row * height_ + y) * kSheetColumns + column) * line);
  }
  void finish() override {
    call(file_, functions_.write_png, file_.path().c_str(), width_ * kSheetColumns, height_ * kSheetRows,
         sheet_.data());
    file_.keep();
  }

 private:
  UnnamedFile file_;
  const FilmPlugin& functions_;
  int width_, height_;
  int64_t pictures_ = 0;
  std::vector<uint8_t> sheet_;  // [rows of pictures, height, columns of pictures, width, 3]
};

}  // namespace

std::unique_ptr<FilmWriter> make_film_writer(const FilmPlan& plan, const FilmLibrary& library, int threads) {
  if (plan.format == FilmFormat::gif) return std::make_unique<GifWriter>(plan, library);
  if (plan.format == FilmFormat::png) return std::make_unique<PngWriter>(plan, library);
  if (!is_on_path("ffmpeg"))
    throw UsageError("--video " + printable(plan.file.string(), 200) +
                     " requires ffmpeg (which is not on PATH): install it or load its module, or use a .gif file");
  return std::make_unique<Mp4Writer>(plan, threads);
}

}  // namespace drl
