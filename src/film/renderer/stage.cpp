#include "film/renderer/stage.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace drl::film {
namespace {

constexpr const char* kGround = "drl_ground";

struct FreeSpec {
  void operator()(mjSpec* spec) const { mj_deleteSpec(spec); }
};

void set(double (&to)[3], double r, double g, double b) { to[0] = r, to[1] = g, to[2] = b; }
void set(float (&to)[3], float r, float g, float b) { to[0] = r, to[1] = g, to[2] = b; }

bool has_sky(mjSpec* spec) {
  for (mjsElement* e = mjs_firstElement(spec, mjOBJ_TEXTURE); e; e = mjs_nextElement(spec, e))
    if (mjs_asTexture(e)->type == mjTEXTURE_SKYBOX) return true;
  return false;
}

mjsTexture* add_texture(mjSpec* spec) {
#if mjVERSION_HEADER >= 4000000
  return mjs_addTexture(spec, nullptr);
#else
  return mjs_addTexture(spec);
#endif
}
void add_sky(mjSpec* spec) {
  mjsTexture* sky = add_texture(spec);
  mjs_setName(sky->element, "drl_sky");
  sky->type = mjTEXTURE_SKYBOX, sky->builtin = mjBUILTIN_GRADIENT;
  set(sky->rgb1, 0.98, 0.98, 0.99);
  set(sky->rgb2, 0.62, 0.72, 0.85);
  sky->width = 128, sky->height = 6 * 128;
}

void add_ground(mjSpec* spec) {
  mjsTexture* squares = add_texture(spec);
  mjs_setName(squares->element, kGround);
  squares->type = mjTEXTURE_2D, squares->builtin = mjBUILTIN_CHECKER;
  set(squares->rgb1, 0.80, 0.81, 0.83);
  set(squares->rgb2, 0.72, 0.74, 0.76);
  squares->width = squares->height = 256;
  mjsMaterial* material = mjs_addMaterial(spec, nullptr);
  mjs_setName(material->element, kGround);
  mjs_setInStringVec(material->textures, mjTEXROLE_RGB, kGround);
  material->texuniform = 1;
  material->texrepeat[0] = material->texrepeat[1] = 0.5f;  // repetitions per metre, of two squares each
  material->specular = 0.1f;
}

// Makes planes infinite, as they are in the physics, and gives those without a material that of our ground.
void lay_ground(mjSpec* spec) {
  for (mjsElement* e = mjs_firstElement(spec, mjOBJ_GEOM); e; e = mjs_nextElement(spec, e)) {
    mjsGeom* geom = mjs_asGeom(e);
    if (geom->type != mjGEOM_PLANE) continue;
    geom->size[0] = geom->size[1] = 0;
    if (!*mjs_getString(geom->material)) mjs_setString(geom->material, kGround);
  }
}

void add_light(mjSpec* spec) {
  mjsLight* light = mjs_addLight(mjs_findBody(spec, "world"), nullptr);
  light->type = mjLIGHT_DIRECTIONAL, light->castshadow = 0;
  set(light->pos, 0, 0, 10);
  set(light->dir, 0.3, 0.5, -1);
  set(light->diffuse, 0.45f, 0.45f, 0.45f);
  set(light->specular, 0.2f, 0.2f, 0.2f);
  set(spec->visual.headlight.ambient, 0.4f, 0.4f, 0.4f);
  set(spec->visual.headlight.diffuse, 0.3f, 0.3f, 0.3f);
  set(spec->visual.headlight.specular, 0.1f, 0.1f, 0.1f);
}

[[noreturn]] void refuse(const char* file, std::string why) {
  std::replace(why.begin(), why.end(), '\n', ' ');
  throw std::invalid_argument(std::string("the model ") + (file ? file : "of shapes") + " cannot be shown (" + why +
                              "): correct the file");
}

}  // namespace

Model load_stage(const char* file, std::span<const FieldHeights> heights, int width, int height) {
  char error[512] = "";
  const std::unique_ptr<mjSpec, FreeSpec> spec(file ? mj_parseXML(file, nullptr, error, sizeof(error))
                                                    : mj_parseXMLString("<mujoco/>", nullptr, error, sizeof(error)));
  if (!spec) refuse(file, error);
  if (!has_sky(spec.get())) add_sky(spec.get());
  if (!mjs_firstElement(spec.get(), mjOBJ_LIGHT)) add_light(spec.get());
  add_ground(spec.get());
  lay_ground(spec.get());
  for (const FieldHeights& of_field : heights) set_heights(spec.get(), of_field);
  spec->visual.global.offwidth = width, spec->visual.global.offheight = height;
  spec->visual.quality.shadowsize = spec->visual.quality.offsamples = 0;  // 4 samples per pixel would halve the speed
  Model model(mj_compile(spec.get(), nullptr));
  if (!model) refuse(file, mjs_getError(spec.get()));
  return model;
}

int ground_material(const mjModel& model) { return mj_name2id(&model, mjOBJ_MATERIAL, kGround); }

}  // namespace drl::film
