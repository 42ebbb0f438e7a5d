/* Replays a robot's log through an exported policy, without a simulator: for each line of observations, it prints the
 * targets that the policy would have sent to the joints. Use it on the stand, before the robot moves: the targets should
 * be plausible, and equal those that your controller computed.
 *
 *   replay LOG.csv
 *
 * Each line of LOG.csv has the policy's observations in the order of policy.json, and may have the actions after them,
 * as the policy returned them (before scale and offset). The program then fails if an action differs by more than 1e-4.
 * Lines that begin with a letter or # are ignored. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy.h"

#define OBSERVATIONS DRL_POLICY_OBSERVATIONS
#define ACTIONS DRL_POLICY_ACTIONS

static const char *const names[ACTIONS] = DRL_POLICY_ACTION_NAMES;
static const double scales[ACTIONS] = DRL_POLICY_ACTION_SCALES;
static const double offsets[ACTIONS] = DRL_POLICY_ACTION_OFFSETS;

/* Reads up to `most` numbers of a line, which are separated by commas or blanks. Returns how many there are. */
static int numbers(const char *line, double *values, int most) {
  int count = 0;
  for (;;) {
    char *end;
    while (isspace((unsigned char)*line) || *line == ',') ++line;
    if (*line == 0) return count;
    if (count == most) return most + 1;
    values[count] = strtod(line, &end);
    if (end == line) return -1;
    ++count;
    line = end;
  }
}

int main(int argc, char **argv) {
  static char line[1 << 16];
  double values[OBSERVATIONS + ACTIONS], largest = 0;
  drl_real observation[OBSERVATIONS], action[ACTIONS];
  int k, number = 0, steps = 0;
  FILE *log = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (!log) {
    fprintf(stderr, argc == 2 ? "error: cannot read %s\n" : "usage: replay LOG.csv\n", argc == 2 ? argv[1] : "");
    return 2;
  }
  for (k = 0; k < ACTIONS; ++k) printf("%s%s", k ? "," : "", names[k]);
  printf("\n");
  while (fgets(line, sizeof line, log)) {
    int count;
    ++number;
    if (line[0] == '#' || isalpha((unsigned char)line[0])) continue;
    count = numbers(line, values, OBSERVATIONS + ACTIONS);
    if (count == 0) continue;
    if (count != OBSERVATIONS && count != OBSERVATIONS + ACTIONS) {
      fprintf(stderr, "error: line %d should have %d observations, and may have %d actions after them\n", number,
              OBSERVATIONS, ACTIONS);
      return 2;
    }
    for (k = 0; k < OBSERVATIONS; ++k) observation[k] = (drl_real)values[k];
    drl_policy_act(observation, action);
    for (k = 0; k < ACTIONS; ++k) printf("%s%.6g", k ? "," : "", offsets[k] + scales[k] * action[k]);
    printf("\n");
    for (k = 0; k < count - OBSERVATIONS; ++k) largest = fmax(largest, fabs(action[k] - values[OBSERVATIONS + k]));
    ++steps;
  }
  fclose(log);
  fprintf(stderr, "%d steps; the largest difference of an action from the log is %.2g\n", steps, largest);
  return largest > 1e-4 ? 1 : 0;
}
