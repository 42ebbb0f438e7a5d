'use strict';
// Draws the objects of a frame (SceneObject in film_plugin.hpp) with WebGL 2.

const kinds = ['sphere', 'capsule', 'ellipsoid', 'cylinder', 'box', 'plane', 'mesh', 'line', 'arrow'];
const objectWords = 13, headWords = 12;

const vertexShader = `#version 300 es
in vec4 point;  // the last number: which end of a capsule it belongs to (-1 or 1)
in vec3 normal;
uniform mat4 camera;
uniform vec3 pos, size, light;
uniform vec4 quat;
uniform float halfLength, floorHeight;
uniform bool isShadow;
out vec3 place, across;
vec3 turn(vec3 v) { return v + 2.0 * cross(quat.yzw, cross(quat.yzw, v) + quat.x * v); }
void main() {
  place = pos + turn(point.xyz * size + vec3(0, 0, point.w * halfLength));
  across = turn(normal / size);
  if (isShadow) place -= light * ((place.z - floorHeight) / light.z) - vec3(0, 0, 0.002);
  gl_Position = camera * vec4(place, 1);
}`;
const fragmentShader = `#version 300 es
precision highp float;
in vec3 place, across;
uniform vec4 color;
uniform vec3 second, eye, light, sky;
uniform float square, range, dim, rim;
uniform bool isShadow;
out vec4 pixel;
float checker(vec2 p) {  // with soft borders as wide as a pixel
  vec2 w = fwidth(p) + 1e-4;
  vec2 i = 2.0 * (abs(fract((p - 0.5 * w) * 0.5) - 0.5) - abs(fract((p + 0.5 * w) * 0.5) - 0.5)) / w;
  return 0.5 - 0.5 * i.x * i.y;
}
void main() {
  if (isShadow) { pixel = vec4(0, 0, 0, 0.16); return; }
  vec3 base = color.rgb, n = normalize(across), v = normalize(eye - place);
  if (square > 0.0) base = mix(base, second, checker(place.xy / square)) * dim;
  if (dot(n, v) < 0.0) n = -n;
  float shine = pow(max(dot(n, normalize(v + light)), 0.0), 24.0);
  vec3 lit = base * (0.45 + 0.28 * max(dot(n, v), 0.0) + 0.42 * max(dot(n, light), 0.0));
  if (square == 0.0) lit += 0.12 * shine + rim * pow(1.0 - max(dot(n, v), 0.0), 3.0);
  float fog = square > 0.0 ? smoothstep(0.25 * range, range, length(eye - place)) : 0.0;
  pixel = vec4(mix(lit, sky, fog), color.a);
}`;

// Returns the points of a profile [radius, z, normal's r, normal's z, end] that turns about z.
function revolve(profile) {
  const turns = 28, points = [], corners = [];
  for (const [r, z, nr, nz, end] of profile)
    for (let k = 0; k <= turns; ++k) {
      const c = Math.cos(2 * Math.PI * k / turns), s = Math.sin(2 * Math.PI * k / turns);
      points.push(r * c, r * s, z, end || 0, nr * c, nr * s, nz);
    }
  for (let row = 0; row + 1 < profile.length; ++row)
    for (let k = 0; k < turns; ++k) {
      const a = row * (turns + 1) + k, b = a + turns + 1;
      corners.push(a, a + 1, b, b, a + 1, b + 1);
    }
  return [points, corners];
}
function capsuleProfile() {
  const rows = 9, profile = [];
  for (const end of [-1, 1])
    for (let k = 0; k <= rows; ++k) {
      const angle = Math.PI / 2 * (end < 0 ? k / rows - 1 : k / rows);
      profile.push([Math.cos(angle), Math.sin(angle), Math.cos(angle), Math.sin(angle), end]);
    }
  return profile;
}
function boxShape() {
  const points = [], corners = [];
  for (let axis = 0; axis < 3; ++axis)
    for (const side of [-1, 1]) {
      const first = points.length / 7;
      for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
        const p = [0, 0, 0], n = [0, 0, 0];
        p[axis] = n[axis] = side, p[(axis + 1) % 3] = u, p[(axis + 2) % 3] = v;
        points.push(...p, 0, ...n);
      }
      corners.push(first, first + 1, first + 2, first, first + 2, first + 3);
    }
  return [points, corners];
}

class Drawing {
  constructor(canvas) {
    this.canvas = canvas;
    this.meshes = new Map();  // by number; null: not yet here
    this.askForMesh = () => {};
    const gl = this.gl = canvas.getContext('webgl2', {antialias: true, stencil: true, alpha: false});
    if (!gl) return;
    const program = this.program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text), gl.compileShader(shader), gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, 'point'), gl.bindAttribLocation(program, 1, 'normal');
    gl.linkProgram(program), gl.useProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    this.at = {};
    for (let k = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) - 1; k >= 0; --k) {
      const name = gl.getActiveUniform(program, k).name;
      this.at[name] = gl.getUniformLocation(program, name);
    }
    const round = revolve(capsuleProfile());
    this.shapes = {
      capsule: this.shape(...round),
      cylinder: this.shape(...revolve([[0, -1, 0, -1], [1, -1, 0, -1], [1, -1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1],
        [0, 1, 0, 1]])),
      cone: this.shape(...revolve([[0, 0, 0, -1], [1, 0, 0, -1], [1, 0, 0.7, 0.7], [0, 1, 0.7, 0.7]])),
      box: this.shape(...boxShape()),
      plane: this.shape([-1, -1, 0, 0, 0, 0, 1, 1, -1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, -1, 1, 0, 0, 0, 0, 1],
        [0, 1, 2, 0, 2, 3]),
    };
    this.shapes.sphere = this.shapes.ellipsoid = this.shapes.capsule;
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  shape(points, corners, numbers = 7) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.STATIC_DRAW);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(corners), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0), gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(0, numbers - 3, gl.FLOAT, false, 4 * numbers, 0);
    gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 4 * numbers, 4 * (numbers - 3));
    return {array, count: corners.length};
  }
  takeMesh(buffer) {
    const [, id, points, corners] = new Uint32Array(buffer, 0, 4);
    this.meshes.set(id, this.shape(new Float32Array(buffer, 16, 6 * points),
      new Uint32Array(buffer, 16 + 24 * points, corners), 6));
  }

  // Draws the objects of `frame` as `view` {at, distance, azimuth, elevation} (MuJoCo's camera) sees them.
  draw(frame, view, colors) {
    const gl = this.gl, at = this.at, width = this.canvas.width, height = this.canvas.height;
    const aspect = width / height, tangent = Math.tan(Math.PI / 8) * Math.max(1, 4 / 3 / aspect);
    const sees = directions(view), eye = view.at.map((x, k) => x - view.distance * sees.ahead[k]);
    this.metresPerPixel = 2 * tangent * view.distance / height;
    gl.viewport(0, 0, width, height);
    gl.clearColor(...colors.sky, 1), gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.uniformMatrix4fv(at.camera, false, cameraMatrix(eye, sees, tangent, aspect, view.distance));
    gl.uniform3fv(at.eye, eye), gl.uniform3fv(at.sky, colors.sky), gl.uniform3f(at.light, -0.26, -0.43, 0.865);
    gl.uniform1f(at.range, 12 * view.distance), gl.uniform1f(at.dim, colors.floor), gl.uniform1f(at.rim, colors.rim);

    const objects = readObjects(frame), isClear = o => o.alpha < 1;
    const floor = objects.find(o => o.kind === 'plane' && Math.abs(o.quat[1]) + Math.abs(o.quat[2]) < 1e-3);
    gl.disable(gl.BLEND), gl.uniform1i(at.isShadow, 0), gl.enable(gl.POLYGON_OFFSET_FILL);
    objects.forEach((object, k) => {  // where faces coincide, those of the later object are seen
      gl.polygonOffset(0, -2 * k);
      if (!isClear(object)) this.drawObject(object, view);
    });
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.enable(gl.BLEND);
    if (floor && eye[2] > floor.pos[2]) {
      gl.uniform1i(at.isShadow, 1), gl.uniform1f(at.floorHeight, floor.pos[2]);
      gl.enable(gl.STENCIL_TEST), gl.depthMask(false);
      gl.stencilFunc(gl.EQUAL, 0, 1), gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      for (const object of objects) if (!object.isFixed && !isClear(object)) this.drawObject(object, view);
      gl.disable(gl.STENCIL_TEST), gl.depthMask(true), gl.uniform1i(at.isShadow, 0);
    }
    for (const object of objects) if (isClear(object)) this.drawObject(object, view);
  }

  drawObject(o, view) {
    const gl = this.gl, at = this.at, axis = turned(o.quat, [0, 0, 1]);
    const along = length => o.pos.map((x, k) => x + length * axis[k]);
    gl.uniform4f(at.color, ...o.color, o.alpha), gl.uniform4fv(at.quat, o.quat);
    gl.uniform3fv(at.second, o.second), gl.uniform1f(at.square, o.kind === 'plane' ? o.square || 1 : 0);
    const put = (shape, pos, size, halfLength = 0) => {
      gl.uniform3fv(at.pos, pos), gl.uniform3fv(at.size, size), gl.uniform1f(at.halfLength, halfLength);
      gl.bindVertexArray(shape.array), gl.drawElements(gl.TRIANGLES, shape.count, gl.UNSIGNED_INT, 0);
    };
    const [x, y, z] = o.size;
    if (o.kind === 'mesh') {
      if (!this.meshes.has(o.mesh)) this.meshes.set(o.mesh, null), this.askForMesh(o.mesh);
      if (this.meshes.get(o.mesh)) put(this.meshes.get(o.mesh), o.pos, [1, 1, 1]);
    } else if (o.kind === 'plane') {  // without borders: it is drawn around the middle of the view
      const height = view.at.reduce((sum, p, k) => sum + (p - o.pos[k]) * axis[k], 0), side = 14 * view.distance;
      put(this.shapes.plane, view.at.map((p, k) => p - height * axis[k]), [side, side, 1]);
    } else if (o.kind === 'line') {
      const radius = 0.5 * x * this.metresPerPixel * devicePixelRatio;
      put(this.shapes.cylinder, along(z / 2), [radius, radius, z / 2]);
    } else if (o.kind === 'arrow') {
      const head = Math.min(z, 4 * x);
      put(this.shapes.cylinder, along((z - head) / 2), [x, x, (z - head) / 2 || 1e-4]);
      put(this.shapes.cone, along(z - head), [2 * x, 2 * x, head || 1e-4]);
    } else {
      put(this.shapes[o.kind], o.pos, o.kind === 'capsule' ? [x, x, x] : [x, y, z], o.kind === 'capsule' ? z : 0);
    }
  }
}

function readObjects(frame) {
  const bytes = new Uint8Array(frame), words = new Float32Array(frame), count = new Uint32Array(frame, 0, 1)[0];
  return Array.from({length: count}, (_, k) => {
    const word = headWords + k * objectWords, byte = 4 * word;
    const part = (first, n) => Array.from(words.subarray(word + first, word + first + n));
    const color = first => [0, 1, 2].map(c => bytes[byte + first + c] / 255);
    return {kind: kinds[bytes[byte]], isFixed: bytes[byte + 1] !== 0, mesh: bytes[byte + 2] + 256 * bytes[byte + 3],
      color: color(4), alpha: bytes[byte + 7] / 255, second: color(8), square: bytes[byte + 11] / 100,
      size: part(3, 3), pos: part(6, 3), quat: part(9, 4)};
  });
}
function turned([w, x, y, z], [a, b, c]) {
  const t = [y * c - z * b + w * a, z * a - x * c + w * b, x * b - y * a + w * c];
  return [a + 2 * (y * t[2] - z * t[1]), b + 2 * (z * t[0] - x * t[2]), c + 2 * (x * t[1] - y * t[0])];
}
// The directions in which MuJoCo's camera looks ahead, and of the picture's right and upper sides.
function directions({azimuth, elevation}) {
  const a = azimuth * Math.PI / 180, e = elevation * Math.PI / 180;
  return {ahead: [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)],
    right: [Math.sin(a), -Math.cos(a), 0],
    up: [-Math.sin(e) * Math.cos(a), -Math.sin(e) * Math.sin(a), Math.cos(e)]};
}
function cameraMatrix(eye, {ahead, right, up}, tangent, aspect, distance) {
  const near = 0.02 * distance, far = 40 * distance, sx = 1 / (tangent * aspect), sy = 1 / tangent;
  const dot = v => v[0] * eye[0] + v[1] * eye[1] + v[2] * eye[2];
  const a = (far + near) / (far - near), b = -2 * far * near / (far - near);
  const columns = [0, 1, 2].map(k => [sx * right[k], sy * up[k], a * ahead[k], ahead[k]]);
  return [].concat(...columns, [-sx * dot(right), -sy * dot(up), -a * dot(ahead) + b, -dot(ahead)]);
}
