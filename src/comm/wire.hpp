// How facts of ranks travel: as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace drl {

// What comes from outside, such as a host's name, need be no UTF-8: bytes that are none are replaced.
template <class Facts>
std::string to_wire(const Facts& facts) {
  return nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Facts>
Facts from_wire(const std::string& text) {
  return nlohmann::json::parse(text).get<Facts>();
}

// Collective. Those of all ranks on rank 0, empty elsewhere.
template <class Facts>
std::vector<Facts> gather_facts(Communicator& comm, const Facts& mine) {
  std::vector<Facts> all;
  for (const std::string& text : gather_texts(comm, to_wire(mine))) all.push_back(from_wire<Facts>(text));
  return all;
}

}  // namespace drl
