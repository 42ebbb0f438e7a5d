// The sizes that only some robots have.
#pragma once

namespace drl::inline DRL_ISA::physics {

// Struct Sizes of a robot's header (src/physics/emit_tables.cpp) derives from this struct, and hides the members that
// differ. Robots without equality constraints, for example, do not define kEqualityRows.
struct DefaultSizes {
  static constexpr int kActivations = 0;  // of actuators
  static constexpr int kAdhesions = 0;    // actuators that adhere to contacts (drl/physics/adhesion.hpp)
  static constexpr int kMotors = 0;       // actuators that a network can drive
  static constexpr int kFrictions = 0;    // degrees of freedom and tendons with dry friction
  // Tendons with limits or dry friction, and rows of equality constraints; and the numbers that are stored for them.
  static constexpr int kTendons = 0, kTendonAlong = 0, kEqualityRows = 0, kEqualityAlong = 0;
  // Contacts between bodies that move: how many a lane has places for, and the most residuals and columns that one has;
  // the number of chains of the matrix (drl/physics/chains.hpp).
  static constexpr int kPairContacts = 0, kPairDimensions = 1, kPairColumns = 1, kChains = 0;
  // Bits of the numbers of residuals that contacts with the world have.
  static constexpr int kResidualNumbers = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6;
  static constexpr double regularised = 1;  // mu of a cone with sliding friction 1
  static constexpr int kNoslipIterations = 0,
                       kNoslipDirections = 0;  // of the solver that follows each solution (drl/physics/noslip.hpp)
  static constexpr int kHeightFields = 0, kWorldPlanes = 0, kPairGroups = 0, kKeyframes = 0;
  static constexpr double kMeanReach = 0;                      // of pairs, without planes [m]
  static constexpr int kPushes = 0;                            // bodies that options can push
  static constexpr int kFrictionParameters = 0;                // of a randomised robot
  static constexpr int kConstants = 0, kReferenceEntries = 0;  // of drl/physics/model_constants.hpp; entries of M
  static constexpr int kInertiaConstant = -1;                  // place of the ratio of the mean inertia
  static constexpr int kContactSensors = 0, kTouchSensors = 0, kRangeFinders = 0, kDistanceSensors = 0;
  static constexpr int kMeshTriangles = 0;  // that rays may meet

  static constexpr bool kWide = false;              // lanes of float compute a step in double: contacts are stiff
  static constexpr bool kStiff = false;             // contacts are stiff, but float was accurate in random motion
  static constexpr bool kStiffer = false;           // some may become stiffer than in random motion: see deepest(k)
  static constexpr bool kWideForNoslip = false;     // they do so only because of the noslip solver
  static constexpr bool kNoslipUsesTrace = false;   // the noslip solver's tolerance is relative to the trace of M
  static constexpr bool kExactDistances = false;    // distances from the floor are computed in double
  static constexpr bool kTurnsStages = false;       // Runge-Kutta's stages are combined along rotations
  static constexpr bool kPlanesTouchFaces = false;  // a plane touches a face of a mesh, not a vertex and its neighbours
  static constexpr bool kCapsulesOverlap = false;   // parallel capsules touch at the ends of their common part
  static constexpr bool kEmptyNetsAreZero = false;  // a contact sensor's net of no contacts has no axes
  static constexpr bool kKeepsMeanAcceleration = false;  // a step of Runge-Kutta leaves the stages' mean of qacc
  static constexpr bool kEdgesVary = false;              // environments change the friction of pyramids
  static constexpr bool kRandomised = false;             // options may change the numbers of the model,
  static constexpr bool kSizes = false;                  // the sizes of geoms,
  static constexpr bool kMovesSites = false;             // the places of sites
  static constexpr bool kMultiCcd = false;               // the flag multiccd is set, and some contacts depend on it
  static constexpr bool kRemembersPairs = false;         // each lane keeps a PairMemory of near pairs
  static constexpr bool kHasGaps = false;                // some contacts do not push yet (ContactPair::gap)
  static constexpr bool kSensesGaps = false;             // contact sensors show such contacts

  // A sensor shows the time; the position or velocity of a joint, tendon or actuator; the force of actuators; an
  // acceleration; the force or torque between a body and its parent; the limit of a joint or tendon; the force of one;
  // an energy.
  static constexpr bool kSensesTime = false, kSensesLengths = false, kSensesActuators = false;
  static constexpr bool kSensesAccelerations = false, kSensesLoads = false, kSensesLimits = false;
  static constexpr bool kSensesLimitForces = false, kSensesEnergies = false;
};

}  // namespace drl::inline DRL_ISA::physics
