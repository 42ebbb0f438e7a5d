// Ranks exchange their facts as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace drl {

// Converts facts to JSON. Bytes that are not valid UTF-8, such as in a host's name, are replaced.
template <class Facts>
std::string to_wire(const Facts& facts) {
  return nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Facts>
Facts from_wire(const std::string& text) {
  return nlohmann::json::parse(text).get<Facts>();
}

// Collective. Returns the facts of all ranks on rank 0, and nothing on the other ranks.
template <class Facts>
std::vector<Facts> gather_facts(Communicator& comm, const Facts& mine) {
  std::vector<Facts> all;
  for (const std::string& text : gather_texts(comm, to_wire(mine))) all.push_back(from_wire<Facts>(text));
  return all;
}

}  // namespace drl
