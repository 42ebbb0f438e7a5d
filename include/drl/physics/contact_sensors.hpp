// Contact sensors (MuJoCo, "XML Reference", sensor/contact): the number of a sensor's contacts, and the force, distance
// and axes of one of them or their net force. drl_robot lists for each contact the sensors that it matches.
#pragma once

#include "drl/physics/rows.hpp"
#include "drl/physics/touch_sensors.hpp"

namespace drl::inline DRL_ISA::physics {

// `reduce` and `data` (bits of Field) are MuJoCo's; `place` is that of the first value in Stage::sensed.
struct ContactSensor {
  enum Reduce { first, deepest, strongest, net_force };
  enum Field { found, force, torque, distance, position, normal, tangent };
  int reduce, data, place;
};
// Bits of the sensors that show a contact, and of those that turn it around; the contact's place in MuJoCo's order.
struct SensedContact {
  uint64_t sensors, turned;
  int order;
};

// A contact's force along its axes (the normal, from the first geom to the second, and two tangents), in world axes.
template <class F>
struct ContactShown {
  F force[3], axis[3][3], distance;

  // Sets the axes of a contact with the floor.
  DRL_HD void set_floor_axes(F tangent_x, F tangent_y) {
    const F axes[3][3] = {{F(0), F(0), F(1)}, {tangent_x, tangent_y, F(0)}, {-tangent_y, tangent_x, F(0)}};
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 3; ++k) axis[r][k] = axes[r][k];
  }
  DRL_HD F world_force(int k) const {
    return math::fma(force[2], axis[2][k], math::fma(force[1], axis[1][k], force[0] * axis[0][k]));
  }
};

// The values of a robot's contact sensors while its contacts are visited.
template <class P>
class SensedContacts {
  using F = typename P::Number;

 public:
  DRL_HD explicit SensedContacts(typename P::Stage& stage) : sensed_(&stage.sensed[0][0]) {
    for (int s = 0; s < P::kContactSensors; ++s) {
      const ContactSensor& sensor = P::contact_sensor(s);
      best_[s] = order_[s] = F(1e30);
      each_value(sensor, [&](int field, int k, F& x) DRL_LAMBDA {
        // As in MuJoCo, a net force has the axes of the world.
        const bool is_axis = field == ContactSensor::normal ? k == 0 : field == ContactSensor::tangent && k == 1;
        x = F(!P::kEmptyNetsAreZero && sensor.reduce == ContactSensor::net_force && is_axis ? 1 : 0);
      });
    }
  }
  // Shows a contact that exists in these lanes to the sensors that it matches.
  DRL_HD void show(const SensedContact& of, Mask<F> lanes, const ContactShown<F>& contact) {
    for (int s = 0; s < P::kContactSensors; ++s)
      if (of.sensors >> s & 1) show(s, of.order, lanes, contact, (of.turned >> s & 1) != 0);
  }

 private:
  DRL_HD void show(int s, int order, Mask<F> lanes, const ContactShown<F>& contact, bool is_turned) {
    const ContactSensor& sensor = P::contact_sensor(s);
    if (sensor.reduce == ContactSensor::net_force) {
      each_value(sensor, [&](int field, int k, F& x) DRL_LAMBDA {
        if (field == ContactSensor::found) x = x + math::select(lanes, F(1), F(0));
        if constexpr (P::kEmptyNetsAreZero)
          if (field == ContactSensor::normal ? k == 0 : field == ContactSensor::tangent && k == 1)
            x = math::select(lanes, F(1), x);
        if (field != ContactSensor::force) return;
        const F force = contact.world_force(k);
        x = x + math::select(lanes, is_turned ? -force : force, F(0));
      });
      return;
    }
    F size = F(0);
    if (sensor.reduce == ContactSensor::deepest) size = contact.distance;
    if (sensor.reduce == ContactSensor::strongest)
      for (const F& x : contact.force) size = math::fma(-x, x, size);
    const Mask<F> is_best = lanes & ((size < best_[s]) | ((size == best_[s]) & (F(order) < order_[s])));
    best_[s] = math::select(is_best, size, best_[s]), order_[s] = math::select(is_best, F(order), order_[s]);
    each_value(sensor, [&](int field, int k, F& x) DRL_LAMBDA {
      if (field == ContactSensor::found) {
        x = x + math::select(lanes, F(1), F(0));
        return;
      }
      // MuJoCo turns a contact by half a turn about its second tangent, along which the force then has the other sign.
      F value = contact.distance;
      if (field == ContactSensor::force) value = is_turned && k == 2 ? -contact.force[2] : contact.force[k];
      if (field == ContactSensor::normal || field == ContactSensor::tangent) {
        value = contact.axis[field == ContactSensor::normal ? 0 : 1][k];
        if (is_turned) value = -value;
      }
      x = math::select(is_best, value, x);
    });
  }
  // Calls body(field, k, value) for each value of a sensor.
  template <class Body>
  DRL_HD void each_value(const ContactSensor& sensor, const Body& body) {
    F* value = sensed_ + sensor.place;
    for (int field = ContactSensor::found; field <= ContactSensor::tangent; ++field)
      if (sensor.data >> field & 1) {
        const int size = field == ContactSensor::found || field == ContactSensor::distance ? 1 : 3;
        for (int k = 0; k < size; ++k) body(field, k, *value++);
      }
  }

  F* sensed_;
  F best_[P::kContactSensors], order_[P::kContactSensors];  // of the contact that each sensor shows
};

// Shows a contact with the floor.
template <class P, class F>
DRL_HD void show_floor_contact(const typename P::Work& w, int c, ContactShown<F>& contact) {
  contact.distance = F(0);
  if constexpr (P::kCones > 0) {
    F force[kResiduals];
    w.cone[c].push(P::cone(c).dimensions, force);
    contact.set_floor_axes(F(0), F(1));  // of a sphere or a box's corner; the cone's residuals are along x and y
    contact.force[0] = force[0], contact.force[1] = force[2], contact.force[2] = -force[1];
    contact.distance = w.contact[c].touch.distance;
  } else {
    const auto& row = w.contact[c].row;
    F push[P::kEdges], tangent[2];
    find_push<P>(w, c, push);
    P::contact_force(P::point(c), row, push, contact.force, tangent);
    contact.set_floor_axes(tangent[0], tangent[1]);
    if constexpr (requires { row.distance; }) contact.distance = row.distance;
  }
}

// Computes the force of a contact between geoms along its axes. In each of these lanes, it is the contact `count`,
// which then moves on. Others have no force.
template <class P, class F>
DRL_HD void find_pair_force(const typename P::Work& w, Mask<F> lanes, int* count, F* force) {
  for (int k = 0; k < 3; ++k) force[k] = F(0);
  for (uint32_t left = lane_bits(lanes); left != 0; left &= left - 1) {
    const int l = lowest_bit(left), contact = w.first_contact[l] + count[l]++;
    if (contact >= w.first_contact[l + 1]) continue;
    F of_pack[kResiduals];
    find_pair_forces<P>(w.pair_contacts[contact / kLanesOf<F>], of_pack);
    for (int k = 0; k < 3; ++k) numbers_of(force[k])[l] = numbers_of(of_pack[k])[contact % kLanesOf<F>];
  }
}

// A contact of the solution for sensors: its force and axes, and where it is (see TouchSensors::add).
template <class F>
struct ContactFound {
  int number;  // those with the floor, then pairs
  Mask<F> lanes;
  ContactShown<F> shown;
  F point[3];
  bool is_of_pair;
};
// Calls body(contact) for the contacts of the solution: of those with the floor, only for those whose number is_wanted.
template <class P, class IsWanted, class Body>
DRL_HD void each_contact_found(const typename P::Work& w, const IsWanted& is_wanted, const Body& body) {
  using F = typename P::Number;
  ContactFound<F> contact;
  contact.is_of_pair = false;
  if constexpr (P::kContacts + P::kCones > 0)
    for (int t = 0; t < w.touches; ++t) {
      const int c = w.touching[t];
      if (!is_wanted(c)) continue;
      show_floor_contact<P>(w, c, contact.shown);
      F hardness;
      if constexpr (P::kCones > 0)
        hardness = w.cone[c].hardness;
      else
        hardness = w.weight[c];
      if constexpr (P::kTouchSensors > 0) {
        if constexpr (P::kCones > 0)
          for (int k = 0; k < 3; ++k) contact.point[k] = w.cone[c].point[k];
        else
          P::contact_point(P::point(c), w.contact[c].row, contact.point);
      }
      contact.number = c, contact.lanes = F(0) < hardness;
      body(contact);
    }
  if constexpr (P::kSensesPairs) {
    if constexpr (P::kPairs > 0)
      if (P::kSensesGaps || w.pair_packs > 0) {
        int count[kLanesOf<F>] = {};
        contact.is_of_pair = true;
        const auto visit = [&](const ContactPair& pair, Mask<F> lanes, const PairContact<F>& at) DRL_LAMBDA {
          contact.number = P::kContacts + P::kCones + index_of<P>(pair), contact.lanes = lanes;
          contact.shown.distance = at.distance;
          find_pair_force<P>(w, pushing_lanes<P>(pair, lanes, at), count, contact.shown.force);
          for (int i = 0; i < 3; ++i) contact.point[i] = at.point[i], contact.shown.axis[0][i] = at.normal[i];
          find_tangents(at, contact.shown.axis[1], contact.shown.axis[2]);
          body(contact);
        };
        each_near_pair<P>(
            w, [&](int number, Mask<F> near) DRL_LAMBDA { each_sensed_contact<P, F>(w, number, near, visit); });
      }
    contact.is_of_pair = false;
    each_ground_contact<P>(w, [&](const ContactPair& pair, const auto& at) DRL_LAMBDA {
      F force[kResiduals];
      at.push(pair.dimensions, force);
      contact.number = P::kContacts + P::kCones + pair.number;
      contact.lanes = P::kSensesGaps ? at.distance < F(at.kAbsent) : at.exists();
      contact.shown.distance = at.distance;
      for (int r = 0; r < 3; ++r) {
        contact.point[r] = at.point[r], contact.shown.force[r] = force[r];
        for (int i = 0; i < 3; ++i) contact.shown.axis[r][i] = pair.first_moves ? -at.axis[r][i] : at.axis[r][i];
      }
      body(contact);
    });
  }
}

// Computes the contact sensors and touch sensors from the solution that the work holds.
template <class P>
DRL_HD_CALLED void find_contact_sensors(const typename P::Work& w, typename P::Stage& stage) {
  using F = typename P::Number;
  if constexpr (P::kContactSensors > 0) {
    SensedContacts<P> sensed(stage);
    each_contact_found<P>(
        w, [](int number) DRL_LAMBDA { return P::sensed_contact(number).sensors != 0; },
        [&](const ContactFound<F>& contact)
            DRL_LAMBDA { sensed.show(P::sensed_contact(contact.number), contact.lanes, contact.shown); });
  }
  if constexpr (P::kTouchSensors > 0) {
    TouchSensors<P> touched(w, stage);
    const auto is_touched = [](int number)
                                DRL_LAMBDA { return P::touched(number).first >= 0 || P::touched(number).second >= 0; };
    each_contact_found<P>(w, is_touched, [&](const ContactFound<F>& contact) DRL_LAMBDA {
      if (is_touched(contact.number))
        touched.add(P::touched(contact.number), contact.lanes, contact.shown.force[0], contact.shown.axis[0],
                    contact.point, contact.is_of_pair);
    });
    touched.finish();
  }
}

}  // namespace drl::inline DRL_ISA::physics
