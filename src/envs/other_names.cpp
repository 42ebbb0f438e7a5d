#include "envs/other_names.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace drl {
namespace {

constexpr std::string_view kSame = "";
constexpr std::string_view kMjlabs = "its rewards and observations follow mjlab's, and its physics is MuJoCo's";
constexpr std::string_view kGymnasiums = "it has Gymnasium's model, rewards and observations";
constexpr std::string_view kGround =
    "its ground is one height field, and other numbers of it differ (docs/howto/terrain.md)";
constexpr std::string_view kDexsuite = "docs/reference/robots.md lists the main differences";

constexpr OtherName kNames[] = {
    // mjlab 1.6.0
    {"Mjlab-Velocity-Flat-Unitree-Go1", "Go1-Velocity-Flat", kSame},
    {"Mjlab-Velocity-Flat-Unitree-G1", "G1-Velocity-Flat", kSame},
    {"Mjlab-Velocity-Rough-Unitree-Go1", "Go1-Velocity-Rough", kGround},
    {"Mjlab-Velocity-Rough-Unitree-G1", "G1-Velocity-Rough", kGround},
    {"Mjlab-Tracking-Flat-Unitree-G1", "G1-Tracking",
     "its terms are the same, its motions are files of drl_motion, and docs/howto/motion.md lists the differences"},
    {"Mjlab-Cartpole-Balance", "Cartpole", "it has Isaac Lab's model and rewards"},
    {"Mjlab-Cartpole-Swingup", "Cartpole", "it has Isaac Lab's model and rewards, and the pole begins upright"},
    // Isaac Lab
    {"Isaac-Cartpole-v0", "Cartpole", kSame},
    {"Isaac-Cartpole-Direct-v0", "Cartpole",
     "it is Isaac-Cartpole-v0, with another order of observations and rewards multiplied by the time step"},
    {"Isaac-Ant-v0", "Ant-v5", kGymnasiums},
    {"Isaac-Ant-Direct-v0", "Ant-v5", kGymnasiums},
    {"Isaac-Humanoid-v0", "Humanoid-v5", kGymnasiums},
    {"Isaac-Humanoid-Direct-v0", "Humanoid-v5", kGymnasiums},
    {"Isaac-Velocity-Flat-Unitree-Go1-v0", "Go1-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Rough-Unitree-Go1-v0", "Go1-Velocity-Rough", kMjlabs},
    {"Isaac-Velocity-Flat-Unitree-Go2-v0", "Go2-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Flat-Anymal-C-v0", "AnymalC-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Flat-Anymal-C-Direct-v0", "AnymalC-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Flat-Spot-v0", "Spot-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Flat-H1-v0", "H1-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Flat-G1-v0", "G1-Velocity-Flat", kMjlabs},
    {"Isaac-Velocity-Rough-G1-v0", "G1-Velocity-Rough", kMjlabs},
    {"Isaac-Dexsuite-Kuka-Allegro-Reorient-v0", "Reorient", kDexsuite},
    // MuJoCo Playground
    {"Go1JoystickFlatTerrain", "Go1-Velocity-Flat", kMjlabs},
    {"Go1JoystickRoughTerrain", "Go1-Velocity-Rough", kMjlabs},
    {"G1JoystickFlatTerrain", "G1-Velocity-Flat", kMjlabs},
    {"G1JoystickRoughTerrain", "G1-Velocity-Rough", kMjlabs},
    {"SpotFlatTerrainJoystick", "Spot-Velocity-Flat", kMjlabs},
    {"BerkeleyHumanoidJoystickFlatTerrain", "BerkeleyHumanoid-Velocity-Flat", kMjlabs},
    {"H1JoystickGaitTracking", "H1-Velocity-Flat", kMjlabs},
    // ManiSkill
    {"PushCube-v1", "PushCube", "it has EmbodiChain's robot and rewards"},
};

}  // namespace

const OtherName* other_name(std::string_view name) {
  std::string plain(name);
  if (const size_t play = plain.find("-Play"); name.starts_with("Isaac-") && play != std::string::npos)
    plain.erase(play, std::string_view("-Play").size());
  const auto* found = std::ranges::find(kNames, std::string_view(plain), &OtherName::theirs);
  return found == std::end(kNames) ? nullptr : found;
}

}  // namespace drl
