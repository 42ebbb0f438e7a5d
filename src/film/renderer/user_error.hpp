#pragma once

#include <stdexcept>

namespace drl::film {

// kUserError of the border (film_plugin.hpp); other exceptions are kOwnError.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace drl::film
