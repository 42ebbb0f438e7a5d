#include "film/film_writer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <string>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/temp_file.hpp"
#include "base/text.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

namespace fs = std::filesystem;

constexpr int kErrorSize = 1024;

// A file that has a name when it is whole, and not before: nothing is left of one that is not, though we are killed.
// (Only while it is copied to where it gets its name, FILE.part can be left.)
class UnnamedFile {
 public:
  explicit UnnamedFile(const fs::path& file) : file_(file) {
    const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
    if (access(folder.c_str(), W_OK) != 0 || fs::is_directory(file))
      throw UsageError(
          "--video " + printable(file.string(), 200) +
          " cannot be written (its folder is missing or read-only, or it is a folder itself): name another "
          "file");
    content_ = create();
    unlink(part().c_str());
  }
  int descriptor() const { return content_; }
  // For this process alone.
  std::string path() const { return "/proc/self/fd/" + std::to_string(content_); }
  void keep() const {
    Descriptor whole = create();
    const bool copied = copy_to(whole) && whole.close() == 0;
    if (copied && rename(part().c_str(), file_.c_str()) == 0) return;
    const int why = errno;
    unlink(part().c_str());
    throw_lost(std::strerror(why));
  }
  [[noreturn]] void throw_lost(const std::string& why) const {
    throw Error("the film " + printable(file_.string(), 200) + " could not be written (" + why +
                "): see to that, or name another file");
  }

 private:
  std::string part() const { return file_.string() + ".part"; }
  Descriptor create() const {
    unlink(part().c_str());
    Descriptor created(open(part().c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (created < 0) throw_lost(std::strerror(errno));
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

// By ffmpeg, which reads the pixels from a pipe.
class Mp4Writer final : public FilmWriter {
 public:
  Mp4Writer(const FilmPlan& plan, int threads) : file_(plan.file) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) file_.throw_lost(std::strerror(errno));
    const Descriptor read_end(ends[0]);
    pipe_ = Descriptor(ends[1]);
    const Descriptor words(open(words_.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    ChildSettings settings{
        .environment = environment_list(), .input = read_end, .output = file_.descriptor(), .errors = words};
    pid_ = spawn({"ffmpeg",
                  "-y",
                  "-loglevel",
                  "error",
                  "-f",
                  "rawvideo",
                  "-pixel_format",
                  "rgb24",
                  "-video_size",
                  std::to_string(plan.width) + "x" + std::to_string(plan.height),
                  "-framerate",
                  std::to_string(std::llround(1 / plan.frame_seconds)),
                  "-i",
                  "pipe:0",
                  "-pix_fmt",
                  "yuv420p",
                  "-threads",
                  std::to_string(threads),
                  "-movflags",
                  "+faststart",
                  "-f",
                  "mp4",
                  "/dev/stdout"},  // which it opens anew: not all that stands for ffmpeg sees our /proc
                 settings);
    unlink(words_.path().c_str());  // nor does it stay if we are killed
    if (pid_ < 0) file_.throw_lost(std::string("ffmpeg: ") + std::strerror(errno));
    before_ = std::signal(SIGPIPE, SIG_IGN);  // its end is an error of write()
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
  // Waits for ffmpeg, which has read all then, or has failed.
  void end() {
    pipe_.close();
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    if (const int code = shell_code(status); code != 0) {
      const std::string words(trim(words_.text()));
      file_.throw_lost("ffmpeg ended with " + std::to_string(code) +
                       (words.empty() ? "" : ": " + printable(words, 300)));
    }
  }

  UnnamedFile file_;
  TempFile words_{"drl_ffmpeg"};  // what it says
  Descriptor pipe_;
  pid_t pid_ = -1;
  sighandler_t before_ = SIG_DFL;
};

class GifWriter final : public FilmWriter {
 public:
  GifWriter(const FilmPlan& plan, const FilmLibrary& library)
      : file_(plan.file), functions_(library.functions()), hundredths_(100 * plan.frame_seconds) {
    char error[kErrorSize] = "";
    const int32_t outcome =
        functions_.open_gif(file_.path().c_str(), plan.width, plan.height, &gif_, error, kErrorSize);
    if (outcome != kFilmed) file_.throw_lost(error);
  }
  ~GifWriter() override {
    char ignored[kErrorSize];
    if (gif_) functions_.close_gif(gif_, ignored, kErrorSize);
  }

  // A GIF counts hundredths of a second: frames are longer and shorter so that the film is as long as it should be.
  void add(const std::vector<uint8_t>& rgb) override {
    const int64_t begin = std::llround(static_cast<double>(frames_) * hundredths_);
    const int64_t end = std::llround(static_cast<double>(++frames_) * hundredths_);
    char error[kErrorSize] = "";
    if (functions_.add_to_gif(gif_, rgb.data(), static_cast<int32_t>(end - begin), error, kErrorSize) != kFilmed)
      file_.throw_lost(error);
  }
  void finish() override {
    char error[kErrorSize] = "";
    if (functions_.close_gif(std::exchange(gif_, nullptr), error, kErrorSize) != kFilmed) file_.throw_lost(error);
    file_.keep();
  }

 private:
  UnnamedFile file_;
  const FilmPlugin& functions_;
  double hundredths_;  // of a frame
  int64_t frames_ = 0;
  void* gif_ = nullptr;
};

// A sheet of pictures, row by row.
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
    char error[kErrorSize] = "";
    if (functions_.write_png(file_.path().c_str(), width_ * kSheetColumns, height_ * kSheetRows, sheet_.data(), error,
                             kErrorSize) != kFilmed)
      file_.throw_lost(error);
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
                     " needs ffmpeg (which is not on PATH): install it or load its module, or name a .gif");
  return std::make_unique<Mp4Writer>(plan, threads);
}

}  // namespace drl
