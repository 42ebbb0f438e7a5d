// The interface of a shared library that steps many simulations of one compiled robot (drl/physics/batch.hpp). Python's
// drl.Batch opens it (python/src/batch.cpp). All of a library is reached by drl_batch_library().
#pragma once

#include <cstdint>

#include "drl/physics/parameter.hpp"

namespace drl {

// An array of a simulation's numbers, with the name that MuJoCo's mjData has for it, or one of these:
//   parameters   the values of the model's parameters, followed by its constants (only of a randomised robot)
//   unsolved     the number of solutions of the last call that did not converge
//   diverged     1 or 2 if a position or a velocity was not finite, or beyond 1e10, at the beginning of the call, 3 if
//                one is so at its end, and otherwise 0
struct BatchField {
  enum Role { state, input, output };  // a step reads and writes states, and only writes outputs
  const char* name;
  int numbers;
  Role role;
};

// Steps the simulations in the lanes of one pack, or, if `steps` is 0, computes the quantities of their states.
struct BatchCall {
  // By field: the number of lane 0, whose neighbours are the other lanes; its next number is `stride` numbers further.
  // Null for outputs that are not wanted.
  void* const* columns;
  int64_t stride;
  int steps;
};

struct BatchLibrary {
  static constexpr int kVersion = 1;  // of this struct
  int version;
  const char* model_id;
  int lanes, bytes;  // simulations of a pack, and size of a number
  int fields, parameters, constants, lacking_sensors, height_fields;
  int growth;  // place among `parameters` of ModelConstant::growth, or -1 if the sizes of geoms are fixed
  const BatchField* field;
  // The k-th parameter, its numbers in the file, and the k-th sensor that lanes do not compute, with the reason.
  ModelParameter (*parameter)(int k);
  double (*start)(int k, int number);
  void (*lacking_sensor)(int k, const char** name, const char** why);
  // Computes the constants that follow from a simulation's parameters (mj_setConst). `column` is that of `parameters`.
  void (*set_constants)(void* column, int64_t stride);
  // Returns MuJoCo's index of a height field, and sets its heights [rows, columns], which are copied.
  int (*height_field)(int k);
  void (*set_heights)(int k, int rows, int columns, const double* size, const float* heights);
  void (*run)(const BatchCall& call);
};

}  // namespace drl
