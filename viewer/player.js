"use strict";
// The player of carom: replays trajectories with WebGL 2, from the data in this page alone.
// Lengths are in stage units: world metres less `centre`, divided by `scale`. Quaternions are (w, x, y, z).

// -- vectors, quaternions, matrices ---------------------------------------------------------------------------

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const times = (k, a) => [k * a[0], k * a[1], k * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const length = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => times(1 / (length(a) || 1), a);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

function perpendiculars(axis) {
  const helper = Math.abs(axis[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
  const first = unit(sub(helper, times(dot(helper, axis), axis)));
  return [first, cross(axis, first)];
}

function product(a, b) {
  const v = add(add(times(a[0], b.slice(1)), times(b[0], a.slice(1))), cross(a.slice(1), b.slice(1)));
  return [a[0] * b[0] - dot(a.slice(1), b.slice(1)), ...v];
}

function quaternionOf(vector) {
  const angle = length(vector);
  const share = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
  return [Math.cos(angle / 2), ...times(share, vector)];
}

function vectorOf(q) {
  const sign = q[0] < 0 ? -1 : 1;
  const axis = times(sign, q.slice(1));
  const sine = length(axis);
  return sine > 1e-12 ? times((2 * Math.atan2(sine, sign * q[0])) / sine, axis) : times(2, axis);
}

function turned(q, vector) {
  const axis = q.slice(1);
  const across = times(2, cross(axis, vector));
  return add(add(vector, times(q[0], across)), cross(axis, across));
}

/** The rows of the rotation matrix of a unit quaternion. */
function rotation([w, x, y, z]) {
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
}

/** Column-major product of 4 x 4 matrices. */
function multiplied(a, b) {
  const result = new Float32Array(16);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++)
      for (let k = 0; k < 4; k++) result[4 * column + row] += a[4 * k + row] * b[4 * column + k];
  return result;
}

// -- the data in the page -------------------------------------------------------------------------------------

const ARRAYS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u1: Uint8Array, i2: Int16Array, i1: Int8Array };

/** The bytes of a gzip file written in base64. */
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function readData() {
  if (typeof DecompressionStream === "undefined")
    throw new Error("This browser cannot unpack the recording: it needs Chrome 80, Firefox 113, Safari 16.4 or newer.");
  const buffer = await unpacked(document.getElementById("data").textContent.trim()).catch(() => {
    throw new Error("The recording in this page is damaged: it cannot be unpacked.");
  });
  const wordBytes = new DataView(buffer).getUint32(0, true);
  const data = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, wordBytes)));
  data.column = (name) => {
    const [kind, offset, count] = data.columns[name];
    return new ARRAYS[kind](buffer, 8 + wordBytes + offset, count);
  };
  return data;
}

/** The number of entries of an ascending array that are at most x. */
function countUpTo(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// -- a run: motion and events ---------------------------------------------------------------------------------

const WHOLE = 32767;
const COLOURS_OF_RUNS = [[0.16, 0.45, 0.87], [0.93, 0.45, 0.13], [0.13, 0.62, 0.42], [0.67, 0.33, 0.78],
  [0.86, 0.22, 0.36], [0.1, 0.63, 0.7], [0.75, 0.6, 0.1], [0.45, 0.5, 0.58], [0.85, 0.4, 0.65]];

class Run {
  constructor(words, number, data) {
    Object.assign(this, words);
    this.colour = COLOURS_OF_RUNS[number % COLOURS_OF_RUNS.length];
    this.scale = data.scale;
    const column = (name) => data.column(words.columns + name);
    this.sampleTimes = column("times");
    const sample = column("sample");
    this.keyTimes = Float64Array.from(sample, (index) => this.sampleTimes[index]);
    this.place = column("place");
    this.orientation = column("orientation");
    this.velocity = column("velocity");
    this.spin = column("spin");
    let first = 0;
    for (const body of this.shown) {
      body.first = first;
      first += body.keys;
      body.times = this.keyTimes.subarray(body.first, first);
    }
    this.events = this.readEvents(column);
    this.eventTimes = Float64Array.from(this.events, (event) => event.time);
    this.impacts = this.events.filter((event) => event.kind === "impact");
    this.impactTimes = Float64Array.from(this.impacts, (event) => event.time);
    this.strongest = 0;
    for (const event of this.events)
      for (let contact = 0; contact < event.contacts; contact++)
        this.strongest = Math.max(this.strongest, length(this.impulse(event, contact, event.stages - 1)));
  }

  readEvents(column) {
    const [time, kind, contacts, stages] = ["time", "kind", "contacts", "stages"].map((name) => column("event/" + name));
    const [energy, impulseScale, velocityScale] = ["energy", "impulseScale", "velocityScale"]
      .map((name) => column("event/" + name));
    this.contact = Object.fromEntries(["bodies", "point", "normal", "tangent", "friction"]
      .map((name) => [name, column("contact/" + name)]));
    this.path = { impulse: column("path/impulse"), velocity: column("path/velocity"), label: column("path/label") };
    const events = [];
    let firstContact = 0;
    let firstStage = 0;
    let firstNumber = 0;
    for (let index = 0; index < time.length; index++) {
      events.push({
        index, time: time[index], kind: this.kinds[kind[index]], contacts: contacts[index], stages: stages[index],
        energy: energy[index], impulseScale: impulseScale[index], velocityScale: velocityScale[index],
        firstContact, firstStage, firstNumber, note: this.notes[index] || "",
      });
      firstContact += contacts[index];
      firstStage += stages[index];
      firstNumber += 3 * contacts[index] * stages[index];
    }
    return events;
  }

  /** Place and orientation of a shown body at a time: after the event, where one happens then. */
  pose(body, time) {
    const index = clamp(countUpTo(body.times, time) - 1, 0, body.keys - 1);
    const one = body.first + index;
    if (index === body.keys - 1 || time <= body.times[index])
      return { place: this.vector(this.place, one, 1), orientation: this.quaternion(one) };
    const two = one + 1;
    const span = body.times[index + 1] - body.times[index];
    const s = (time - body.times[index]) / span;
    const speed = (span * body.speed) / WHOLE;
    const rate = (span * body.rate) / WHOLE;
    const place = [0, 1, 2].map((k) =>
      (1 + 2 * s) * (1 - s) ** 2 * this.place[3 * one + k] + s * (1 - s) ** 2 * speed * this.velocity[3 * one + k] +
      s * s * (3 - 2 * s) * this.place[3 * two + k] + s * s * (s - 1) * speed * this.velocity[3 * two + k]);
    const [before, after] = [this.quaternion(one), this.quaternion(two)];
    const steady = this.vector(this.spin, one, rate);
    const carried = product(quaternionOf(steady), before);
    const rest = vectorOf(product(after, [carried[0], -carried[1], -carried[2], -carried[3]]));
    const excess = sub(this.vector(this.spin, two, rate), turned(quaternionOf(rest), steady));
    const slope = sub(excess, times(0.5, cross(rest, excess)));
    const correction = add(times(s * s, sub(times(3, rest), slope)), times(s ** 3, sub(slope, times(2, rest))));
    return { place, orientation: product(quaternionOf(correction), product(quaternionOf(times(s, steady)), before)) };
  }

  /** Velocity of a shown body [m/s], of the keys around a time. */
  speedOf(body, time) {
    const one = clamp(countUpTo(body.times, time) - 1, 0, body.keys - 1);
    const two = Math.min(one + 1, body.keys - 1);
    const span = body.times[two] - body.times[one];
    const share = span > 0 ? clamp((time - body.times[one]) / span, 0, 1) : 0;
    const at = (index) => this.vector(this.velocity, body.first + index, (body.speed * this.scale) / WHOLE);
    return add(times(1 - share, at(one)), times(share, at(two)));
  }

  vector(values, index, scale) {
    return [scale * values[3 * index], scale * values[3 * index + 1], scale * values[3 * index + 2]];
  }

  quaternion(index) {
    const q = [0, 1, 2, 3].map((k) => this.orientation[4 * index + k]);
    const size = Math.hypot(...q) || 1;
    return q.map((value) => value / size);
  }

  /** Three numbers of one contact at a stage of a path, which may lie between two stages. */
  alongPath(values, scale, event, contact, stage) {
    const low = clamp(Math.floor(stage), 0, event.stages - 1);
    const high = Math.min(low + 1, event.stages - 1);
    const share = stage - low;
    const at = (k, row) => values[event.firstNumber + (row * event.contacts + contact) * 3 + k];
    return [0, 1, 2].map((k) => (scale / WHOLE) * ((1 - share) * at(k, low) + share * at(k, high)));
  }

  /** Impulse of a contact [N s] in its frame (normal, tangent, tangent2), accumulated up to a stage. */
  impulse(event, contact, stage) {
    return event.stages ? this.alongPath(this.path.impulse, event.impulseScale, event, contact, stage) : [0, 0, 0];
  }

  /** Velocity of a contact [m/s] in its frame at a stage; it separates where the first number is positive. */
  contactVelocity(event, contact, stage) {
    return event.stages ? this.alongPath(this.path.velocity, event.velocityScale, event, contact, stage) : [0, 0, 0];
  }

  stageLabel(event, stage) {
    return event.stages ? this.labels[this.path.label[event.firstStage + Math.floor(stage + 1e-6)]] : "";
  }

  /** Point and axes (normal, tangent, tangent2) of a contact of an event. */
  frame(event, contact) {
    const index = event.firstContact + contact;
    const normal = this.vector(this.contact.normal, index, 1);
    const tangent = this.vector(this.contact.tangent, index, 1);
    return { point: this.vector(this.contact.point, index, 1), axes: [normal, tangent, cross(normal, tangent)],
      friction: this.contact.friction[index],
      bodies: [this.contact.bodies[2 * index], this.contact.bodies[2 * index + 1]] };
  }

  /** What a contact does at a stage: a word and its colour. */
  mode(event, contact, stage) {
    const [normal, first, second] = this.contactVelocity(event, contact, stage);
    const least = 1e-4 * event.velocityScale;
    if (normal < -least) return MODES.approaching;
    if (normal > least) return MODES.separating;
    return Math.hypot(first, second) > least ? MODES.sliding : MODES.sticking;
  }
}

const MODES = {
  approaching: { word: "approaching", colour: [0.86, 0.16, 0.22] },
  separating: { word: "separating", colour: [0.16, 0.66, 0.38] },
  sliding: { word: "sliding", colour: [0.95, 0.58, 0.1] },
  sticking: { word: "sticking", colour: [0.2, 0.48, 0.9] },
};

// -- camera ---------------------------------------------------------------------------------------------------

const FIELD_OF_VIEW = (38 * Math.PI) / 180;
const STEEPEST = (89 * Math.PI) / 180;

class Camera {
  constructor(data) {
    this.up = data.up;
    this.data = data;
    this.azimuth = data.azimuth;
    this.elevation = (18 * Math.PI) / 180;
    this.target = [0, 0, 0];
    this.distance = 3;
  }

  axes() {
    const [east, north] = perpendiculars(this.up);
    const level = add(times(Math.cos(this.azimuth), east), times(Math.sin(this.azimuth), north));
    const backward = add(times(Math.cos(this.elevation), level), times(Math.sin(this.elevation), this.up));
    const right = unit(cross(this.up, backward));
    return [right, cross(backward, right), backward];
  }

  get eye() {
    return add(this.target, times(this.distance, this.axes()[2]));
  }

  /** From stage to clip coordinates. */
  matrix(aspect) {
    const [right, above, backward] = this.axes();
    const eye = this.eye;
    const view = [right[0], above[0], backward[0], 0, right[1], above[1], backward[1], 0,
      right[2], above[2], backward[2], 0, -dot(right, eye), -dot(above, eye), -dot(backward, eye), 1];
    const [near, far] = [this.distance / 100, this.distance + 60];
    const zoom = 1 / Math.tan(FIELD_OF_VIEW / 2);
    const projection = [zoom / aspect, 0, 0, 0, 0, zoom, 0, 0, 0, 0, (far + near) / (near - far), -1,
      0, 0, (2 * far * near) / (near - far), 0];
    return multiplied(projection, view);
  }

  /** The direction seen at a place of the picture, both from -1 to 1. */
  ray(x, y, aspect) {
    const [right, above, backward] = this.axes();
    const half = Math.tan(FIELD_OF_VIEW / 2);
    return sub(add(times(x * half * aspect, right), times(y * half, above)), backward);
  }

  orbit(right, above) {
    this.azimuth += right;
    this.elevation = clamp(this.elevation + above, -STEEPEST, STEEPEST);
  }

  pan(right, above) {
    const height = 2 * this.distance * Math.tan(FIELD_OF_VIEW / 2);
    const axes = this.axes();
    this.target = add(this.target, add(times(height * right, axes[0]), times(height * above, axes[1])));
  }

  zoom(factor) {
    this.distance = clamp(this.distance * factor, 1e-4, 200);
  }

  frameAll(aspect) {
    const { lower, upper } = this.data;
    this.target = times(0.5, add(lower, upper));
    const half = Math.tan(FIELD_OF_VIEW / 2) / 1.3;
    const axes = this.axes();
    this.distance = 1e-4;
    for (let corner = 0; corner < 8; corner++) {
      const at = sub([0, 1, 2].map((k) => (corner & (1 << k) ? upper[k] : lower[k])), this.target);
      const [x, y, z] = axes.map((axis) => dot(axis, at));
      this.distance = Math.max(this.distance, z + Math.max(Math.abs(y), Math.abs(x) / aspect) / half);
    }
  }
}

// -- shaders --------------------------------------------------------------------------------------------------

const HEAD = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
`;

const SHADING = `
uniform vec3 light;
uniform vec3 up;
uniform vec3 eye;
uniform mat4 lightMatrix;
uniform sampler2DShadow shadowMap;
uniform float shadowTexel;
uniform float night;
uniform float shadowed;  // 0 for what no shadow falls on

float litShare(vec3 place, vec3 normal) {
  if (dot(normal, light) <= 0.0) return 0.0;
  if (shadowed == 0.0) return 1.0;
  vec3 at = (lightMatrix * vec4(place + normal * 2.5 * shadowTexel, 1.0)).xyz * 0.5 + 0.5;
  if (any(lessThan(at.xy, vec2(0.002))) || any(greaterThan(at.xy, vec2(0.998)))) return 1.0;
  vec2 texel = 1.0 / vec2(textureSize(shadowMap, 0));
  float lit = 0.0;
  for (int row = 0; row < 3; row++)
    for (int column = 0; column < 3; column++)
      lit += texture(shadowMap, vec3(at.xy + (vec2(row, column) - 1.0) * 1.3 * texel, at.z - 0.0008));
  return lit / 9.0;
}

vec3 shaded(vec3 base, vec3 place, vec3 normal, float gloss) {
  float lit = litShare(place, normal);
  float towardsLight = max(dot(normal, light), 0.0);
  float towardsSky = 0.5 + 0.5 * dot(normal, up);
  vec3 ambient = mix(vec3(0.46, 0.46, 0.48), vec3(0.58, 0.60, 0.63), towardsSky) * mix(1.0, 0.72, night);
  vec3 halfWay = normalize(light + normalize(eye - place));
  float highlight = gloss * pow(max(dot(normal, halfWay), 0.0), 40.0) * lit;
  float towardsEye = 0.10 * max(dot(normal, normalize(eye - place)), 0.0);
  return base * (ambient + towardsEye + 0.40 * towardsLight * lit) + highlight;
}
`;

const BODY_VERTEX = HEAD + `
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 rowX;
layout(location = 3) in vec4 rowY;
layout(location = 4) in vec4 rowZ;
layout(location = 5) in vec4 colour;
uniform mat4 viewProjection;
out vec3 place;
out vec3 facing;
out vec3 ownPlace;
flat out vec4 tint;
void main() {
  vec4 at = vec4(position, 1.0);
  place = vec3(dot(rowX, at), dot(rowY, at), dot(rowZ, at));
  facing = vec3(dot(rowX.xyz, normal), dot(rowY.xyz, normal), dot(rowZ.xyz, normal));
  ownPlace = position;
  tint = colour;
  gl_Position = viewProjection * vec4(place, 1.0);
}`;

// A body's eight octants alternate between its colour and a light one, so that spin can be seen.
const BODY_FRAGMENT = HEAD + `
in vec3 place;
in vec3 facing;
in vec3 ownPlace;
flat in vec4 tint;
uniform float opacity;
out vec4 pixel;
` + SHADING + `
void main() {
  vec3 side = clamp(ownPlace / max(fwidth(ownPlace), vec3(1e-6)), -1.0, 1.0);
  float octant = 0.5 - 0.5 * side.x * side.y * side.z;
  vec3 base = mix(tint.rgb, vec3(0.97, 0.96, 0.94), tint.a * octant);
  pixel = vec4(shaded(base, place, normalize(facing), 0.28), opacity);
}`;

const SHADOW_FRAGMENT = HEAD + "void main() {}";

const FLOOR_VERTEX = HEAD + `
uniform mat4 viewProjection;
uniform vec3 middle;
uniform vec3 firstAxis;
uniform vec3 secondAxis;
uniform float reach;
out vec3 place;
void main() {
  vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 2.0 - 1.0;
  place = middle + reach * (corner.x * firstAxis + corner.y * secondAxis);
  gl_Position = viewProjection * vec4(place, 1.0);
}`;

const FLOOR_FRAGMENT = HEAD + `
in vec3 place;
uniform vec3 firstAxis;
uniform vec3 secondAxis;
uniform vec3 planeNormal;
uniform vec3 middle;
uniform vec2 tileOrigin;
uniform float tile;
uniform float fadeDistance;
out vec4 pixel;
` + SHADING + `
void main() {
  vec2 at = vec2(dot(place, firstAxis), dot(place, secondAxis)) / tile + tileOrigin;
  vec2 width = fwidth(at) + 1e-4;
  vec2 lower = abs(fract((at - 0.5 * width) * 0.5) - 0.5);
  vec2 upper = abs(fract((at + 0.5 * width) * 0.5) - 0.5);
  vec2 wave = 2.0 * (lower - upper) / width;
  float square = 0.5 - 0.5 * wave.x * wave.y;
  vec3 day = mix(vec3(0.745, 0.765, 0.795), vec3(0.865, 0.88, 0.91), square);
  vec3 dark = mix(vec3(0.24, 0.26, 0.30), vec3(0.30, 0.32, 0.37), square);
  float away = length(place - middle) / fadeDistance;
  pixel = vec4(shaded(mix(day, dark, night), place, planeNormal, 0.0), exp(-away * away));
}`;

const SKY_VERTEX = HEAD + `
uniform vec3 rayOrigin;
uniform vec3 rayRight;
uniform vec3 rayAbove;
out vec3 ray;
void main() {
  vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 4.0 - 1.0;
  ray = rayOrigin + corner.x * rayRight + corner.y * rayAbove;
  gl_Position = vec4(corner, 0.9999, 1.0);
}`;

const SKY_FRAGMENT = HEAD + `
in vec3 ray;
uniform vec3 up;
uniform float night;
out vec4 pixel;
void main() {
  float height = dot(normalize(ray), up);
  vec3 horizon = mix(vec3(0.905, 0.925, 0.955), vec3(0.16, 0.17, 0.20), night);
  vec3 zenith = mix(vec3(0.50, 0.65, 0.84), vec3(0.06, 0.07, 0.10), night);
  vec3 nadir = mix(vec3(0.80, 0.82, 0.85), vec3(0.11, 0.12, 0.14), night);
  vec3 colour = mix(horizon, height > 0.0 ? zenith : nadir, smoothstep(0.0, height > 0.0 ? 0.45 : 0.6, abs(height)));
  pixel = vec4(colour, 1.0);
}`;

// -- meshes made here -----------------------------------------------------------------------------------------

/** A surface of revolution about z from points [radius, z]; flat across the points where `sharp`. */
function revolved(profile, sides, sharp) {
  const places = [];
  const normals = [];
  const indices = [];
  for (let k = 0; k + 1 < profile.length; k++) {
    const [[r0, z0], [r1, z1]] = [profile[k], profile[k + 1]];
    const base = places.length / 3;
    for (let i = 0; i <= sides; i++) {
      const [c, s] = [Math.cos((2 * Math.PI * i) / sides), Math.sin((2 * Math.PI * i) / sides)];
      for (const [r, z] of [[r0, z0], [r1, z1]]) {
        places.push(r * c, r * s, z);
        const n = sharp ? unit([(z1 - z0) * c, (z1 - z0) * s, r0 - r1]) : unit([r * c, r * s, z]);
        normals.push(...n);
      }
      if (i < sides) {
        const at = base + 2 * i;
        indices.push(at, at + 2, at + 1, at + 1, at + 2, at + 3);
      }
    }
  }
  return { places: new Float32Array(places), normals: new Float32Array(normals), indices: new Uint32Array(indices) };
}

function sphereMesh(rings) {
  const profile = [];
  for (let k = 0; k <= rings; k++) {
    const angle = (Math.PI * k) / rings;
    profile.push([Math.sin(angle), -Math.cos(angle)]);
  }
  return revolved(profile, 2 * rings, false);
}

const arrowMesh = () => revolved([[0, 0], [0.035, 0], [0.035, 0.7], [0.09, 0.7], [0, 1]], 20, true);
const coneMesh = () => revolved([[0, 0], [1, 1]], 40, true);

function meshOfData(data, words, spheres) {
  if (words.sphere) return sphereMesh(spheres <= 20 ? 32 : spheres <= 200 ? 20 : 10);
  const [places, normals, indices] = ["places", "normals", "indices"].map((name) => data.column(words.columns + name));
  return { places: Float32Array.from(places, (x) => x / WHOLE), normals: Float32Array.from(normals, (x) => x / 127),
    indices };
}

// -- drawing --------------------------------------------------------------------------------------------------

const SHADOW_SIZE = 2048;
const ARROW_COLOUR = [0.95, 0.49, 0.12];
const VELOCITY_COLOUR = [0.24, 0.45, 0.95];

class Program {
  constructor(gl, vertex, fragment) {
    this.gl = gl;
    this.program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program));
    this.locations = {};
  }

  use(uniforms) {
    this.gl.useProgram(this.program);
    for (const [name, value] of Object.entries(uniforms)) this.set(name, value);
  }

  set(name, value) {
    const gl = this.gl;
    if (!(name in this.locations)) this.locations[name] = gl.getUniformLocation(this.program, name);
    const location = this.locations[name];
    if (typeof value === "number") gl.uniform1f(location, value);
    else if (value.length === 16) gl.uniformMatrix4fv(location, false, value);
    else if (value.length === 3) gl.uniform3fv(location, value);
    else gl.uniform2fv(location, value);
  }
}

class InstancedMesh {
  constructor(gl, mesh) {
    this.gl = gl;
    this.count = 0;
    this.corners = mesh.indices.length;
    this.array = gl.createVertexArray();
    this.instances = gl.createBuffer();
    gl.bindVertexArray(this.array);
    for (const [location, values] of [[0, mesh.places], [1, mesh.normals]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, 3, gl.FLOAT, false, 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.indices, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    for (let k = 0; k < 4; k++) {
      gl.enableVertexAttribArray(2 + k);
      gl.vertexAttribPointer(2 + k, 4, gl.FLOAT, false, 64, 16 * k);
      gl.vertexAttribDivisor(2 + k, 1);
    }
    gl.bindVertexArray(null);
  }

  /** Take instances of 16 numbers: three rows of the matrix to the stage, then the colour and its pattern. */
  place(numbers) {
    this.count = numbers.length / 16;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.instances);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, new Float32Array(numbers), this.gl.DYNAMIC_DRAW);
  }

  draw() {
    if (!this.count) return;
    this.gl.bindVertexArray(this.array);
    this.gl.drawElementsInstanced(this.gl.TRIANGLES, this.corners, this.gl.UNSIGNED_INT, 0, this.count);
  }
}

/** The numbers of an instance whose own axes are the given columns. */
function instance(columns, place, colour, pattern) {
  const rows = [];
  for (let k = 0; k < 3; k++) rows.push(columns[0][k], columns[1][k], columns[2][k], place[k]);
  return [...rows, ...colour, pattern];
}

/** An instance of a mesh along z, from a place along a vector, `width` times as wide as long. */
function along(place, vector, colour, width = 1) {
  const size = length(vector);
  const [first, second] = perpendiculars(unit(vector));
  return instance([times(width * size, first), times(width * size, second), vector], place, colour, 0);
}

class Renderer {
  constructor(canvas, data, runs) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser offers no WebGL 2, which the player draws with.");
    this.gl = gl;
    this.data = data;
    this.runs = runs;
    this.programs = {
      body: new Program(gl, BODY_VERTEX, BODY_FRAGMENT),
      shadow: new Program(gl, BODY_VERTEX, SHADOW_FRAGMENT),
      floor: new Program(gl, FLOOR_VERTEX, FLOOR_FRAGMENT),
      sky: new Program(gl, SKY_VERTEX, SKY_FRAGMENT),
    };
    const spheres = runs.reduce((sum, run) => sum + run.shown.filter((body) => body.mesh === 0).length, 0);
    this.sources = data.meshes.map((words) => meshOfData(data, words, spheres));
    this.meshes = runs.map((run) => {
      const used = [...new Set(run.shown.map((body) => body.mesh))];
      return used.map((mesh) => ({ mesh, bodies: run.shown.filter((body) => body.mesh === mesh),
        drawn: new InstancedMesh(gl, this.sources[mesh]) }));
    });
    this.arrows = new InstancedMesh(gl, arrowMesh());
    this.dots = new InstancedMesh(gl, sphereMesh(12));
    this.cones = new InstancedMesh(gl, coneMesh());
    this.nothing = gl.createVertexArray();
    this.makeShadowMap();
    const [east, north] = perpendiculars(data.up);
    this.light = unit(sub(sub(times(0.9, data.up), times(0.22, east)), times(0.48, north)));
    this.lightMatrix = this.matrixOfLight();
  }

  makeShadowMap() {
    const gl = this.gl;
    this.shadowTexture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadowTexture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL);
    this.shadowFramebuffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFramebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadowTexture, 0);
  }

  matrixOfLight() {
    const reach = 1.02 * this.data.shadowReach;
    const [first, second] = perpendiculars(this.light);
    const rows = [times(1 / reach, first), times(1 / reach, second), times(-1 / (2 * reach), this.light)];
    return new Float32Array([...[0, 1, 2].flatMap((k) => [rows[0][k], rows[1][k], rows[2][k], 0]), 0, 0, 0, 1]);
  }

  resize(width, height) {
    const canvas = this.gl.canvas;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  }

  /** Draw; `picture` says the time, the opacity of each run, what marks to show, and whether it is dark. */
  draw(camera, picture) {
    const gl = this.gl;
    const { width, height } = gl.canvas;
    this.placeBodies(picture);
    this.arrows.place(picture.marks.arrows);
    this.dots.place(picture.marks.dots);
    this.cones.place(picture.marks.cones);
    this.drawShadows(picture);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT | gl.COLOR_BUFFER_BIT);
    const shared = { viewProjection: camera.matrix(width / height), light: this.light, up: this.data.up,
      eye: camera.eye, lightMatrix: this.lightMatrix, shadowTexel: (2.04 * this.data.shadowReach) / SHADOW_SIZE,
      night: picture.night, shadowed: 1 };
    this.drawSky(camera, width / height, picture.night);
    gl.bindTexture(gl.TEXTURE_2D, this.shadowTexture);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    this.programs.floor.use(shared);
    for (const plane of this.data.planes) this.drawFloor(plane, camera);
    this.programs.body.use({ ...shared, opacity: 1 });
    gl.disable(gl.BLEND);
    this.runs.forEach((_, run) => picture.opacity[run] >= 1 && this.drawRun(run));
    this.dots.draw();
    this.arrows.draw();
    this.drawTranslucent(picture);
  }

  /** Runs that are not picked, friction cones, and arrows and contacts once more through the bodies. */
  drawTranslucent(picture) {
    const gl = this.gl;
    const body = this.programs.body;
    gl.enable(gl.BLEND);
    gl.enable(gl.CULL_FACE);
    gl.depthMask(false);
    body.set("shadowed", 0);
    this.runs.forEach((_, run) => {
      if (picture.opacity[run] >= 1 || picture.opacity[run] <= 0) return;
      body.set("opacity", picture.opacity[run]);
      this.drawRun(run);
    });
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    body.set("opacity", 0.25);
    this.cones.draw();
    gl.enable(gl.CULL_FACE);
    body.set("opacity", 0.75);
    this.arrows.draw();
    this.dots.draw();
    gl.disable(gl.CULL_FACE);
    gl.depthMask(true);
  }

  placeBodies(picture) {
    this.meshes.forEach((groups, number) => {
      const run = this.runs[number];
      for (const { bodies, drawn } of groups) {
        const numbers = [];
        for (const body of bodies) {
          const { place, orientation } = run.pose(body, picture.time);
          const rows = rotation(orientation);
          for (let k = 0; k < 3; k++) numbers.push(...times(body.radius, rows[k]), place[k]);
          const own = body.colour.slice(0, 3);
          const share = this.runs.length > 1 && !run.bodies[body.body].fixed ? 0.9 : 0;
          numbers.push(...add(times(1 - share, own), times(share, run.colour)));
          numbers.push(body.body === picture.picked && number === picture.run ? 0.6 : body.colour[3]);
        }
        drawn.place(numbers);
      }
    });
  }

  drawRun(run) {
    for (const { drawn } of this.meshes[run]) drawn.draw();
  }

  drawShadows(picture) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFramebuffer);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.disable(gl.BLEND);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.programs.shadow.use({ viewProjection: this.lightMatrix });
    this.runs.forEach((_, run) => picture.opacity[run] > 0.35 && this.drawRun(run));
  }

  drawSky(camera, aspect, night) {
    const gl = this.gl;
    const origin = camera.ray(0, 0, aspect);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    this.programs.sky.use({ up: this.data.up, night, rayOrigin: origin,
      rayRight: sub(camera.ray(1, 0, aspect), origin), rayAbove: sub(camera.ray(0, 1, aspect), origin) });
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** A plane seen from its front; from behind it would hide the bodies. */
  drawFloor({ normal, offset }, camera) {
    if (dot(normal, camera.eye) <= offset) return;
    const gl = this.gl;
    const [firstAxis, secondAxis] = perpendiculars(normal);
    const centre = times(1 / this.data.scale, this.data.centre);
    const fadeDistance = 8 * Math.max(camera.distance, 1);
    const even = (axis) => (((dot(centre, axis) / this.data.tile) % 2) + 2) % 2;
    const uniforms = { firstAxis, secondAxis, planeNormal: normal, reach: 2.6 * fadeDistance, fadeDistance,
      middle: sub(camera.target, times(dot(normal, camera.target) - offset, normal)),
      tileOrigin: [even(firstAxis), even(secondAxis)], tile: this.data.tile };
    for (const [name, value] of Object.entries(uniforms)) this.programs.floor.set(name, value);
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  /** The nearest body of a run along a ray, or -1. */
  pick(run, time, eye, direction) {
    let [best, nearest] = [-1, Infinity];
    for (const body of this.runs[run].shown) {
      const { place, orientation } = this.runs[run].pose(body, time);
      const rows = rotation(orientation);
      const inBody = (vector) => [0, 1, 2].map((k) =>
        (rows[0][k] * vector[0] + rows[1][k] * vector[1] + rows[2][k] * vector[2]) / body.radius);
      const distance = hit(inBody(sub(eye, place)), inBody(direction), this.sources[body.mesh]);
      if (distance < nearest) [best, nearest] = [body.body, distance];
    }
    return best;
  }
}

/** How far along a ray a mesh of radius 1 about the origin is met, or Infinity. */
function hit(origin, direction, mesh) {
  const a = dot(direction, direction);
  const b = dot(origin, direction);
  if (b * b < a * (dot(origin, origin) - 1.0001)) return Infinity;
  let nearest = Infinity;
  const corner = (index) => [mesh.places[3 * index], mesh.places[3 * index + 1], mesh.places[3 * index + 2]];
  for (let k = 0; k < mesh.indices.length; k += 3) {
    const first = corner(mesh.indices[k]);
    const [u, v] = [sub(corner(mesh.indices[k + 1]), first), sub(corner(mesh.indices[k + 2]), first)];
    const across = cross(direction, v);
    const volume = dot(u, across);
    if (Math.abs(volume) < 1e-14) continue;
    const from = sub(origin, first);
    const x = dot(from, across) / volume;
    const other = cross(from, u);
    const y = dot(direction, other) / volume;
    const distance = dot(v, other) / volume;
    if (x >= 0 && y >= 0 && x + y <= 1 && distance > 0) nearest = Math.min(nearest, distance);
  }
  return nearest;
}

// -- the player -----------------------------------------------------------------------------------------------

const SPEEDS = [];
for (let exponent = -7; exponent < 3; exponent++)
  for (const mantissa of ["1", "2", "5"]) SPEEDS.push(Number(mantissa + "e" + exponent));
const FRAMES_A_SECOND = 60;
const ARROW_SECONDS = 0.25; // of watching that an impulse stays after its event
const IMPACT_SECONDS = 2.5; // that an impact takes when it is played by itself
const STAGES_A_SECOND = 6; // how fast a step inside an impact is drawn

const HELP = [
  ["space", "play or pause"], ["← →", "one frame back or on (shift: ten)"], ["[ ]", "previous or next impact"],
  ["; '", "previous or next event of any kind"],
  ["↑ ↓", "inside the impact: one stage of its impulse path back or on"], ["Enter", "inside the impact: play it"],
  [", .", "slower or faster"], ["Home End", "to the start or the end"], ["1 … 9, 0", "pick a run, or all of them"],
  ["drag", "orbit"], ["right drag, shift drag", "pan"], ["scroll, pinch", "zoom"], ["F", "frame everything"],
  ["click a body", "who it is"], ["G", "follow the body that was clicked"], ["C", "contacts and impulses on or off"],
  ["K", "friction cones on or off"], ["V", "velocities on or off"], ["B", "light or dark"], ["H", "this help"],
];
const KIND_COLOURS = { impact: "#f07d32", lift_off: "#3fae6c", stick: "#3f7fe0", slip: "#c9a21a", user: "#b25fd0",
  sensor: "#18a5ad", roll: "#c061b0", halt: "#6a5fd0" };

class Player {
  constructor(data) {
    this.data = data;
    this.runs = data.runs.map((words, number) => new Run(words, number, data));
    this.canvas = document.getElementById("scene");
    this.renderer = new Renderer(this.canvas, data, this.runs);
    this.camera = new Camera(data);
    this.time = data.start;
    this.speed = data.speed;
    this.playing = false;
    this.run = 0;
    this.overlaid = this.runs.length > 1;
    this.event = null; // the event at which time stands still
    this.stage = 0; // of its impulse path, on the way to `goal`
    this.goal = 0;
    this.stageRate = STAGES_A_SECOND;
    this.picked = -1;
    this.follows = false;
    this.shows = { contacts: true, cones: false, velocities: false };
    this.night = matchMedia("(prefers-color-scheme: dark)").matches;
    this.framesDrawn = 0;
    this.decimals = clamp(3 - Math.floor(Math.log10(data.end - data.start || 1)), 3, 12);
    this.panels = new Panels(this);
    listen(this);
    this.framed = true;
    this.resize();
    this.applyTheme();
    this.lastTick = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  get current() {
    return this.runs[this.run];
  }

  get aspect() {
    return Math.max(this.canvas.clientWidth, 1) / Math.max(this.canvas.clientHeight, 1);
  }

  resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.renderer.resize(Math.max(1, Math.round(this.canvas.clientWidth * ratio)),
      Math.max(1, Math.round(this.canvas.clientHeight * ratio)));
    if (this.framed) this.frameAll();
    this.changed = true;
  }

  tick(now) {
    const passed = Math.min((now - this.lastTick) / 1000, 0.25);
    this.lastTick = now;
    if (this.playing) this.advance(passed * this.speed);
    if (this.stage !== this.goal) {
      const step = this.stageRate * passed;
      this.stage = Math.abs(this.goal - this.stage) <= step ? this.goal : this.stage + step * Math.sign(this.goal - this.stage);
      this.changed = true;
    }
    if (this.changed) this.draw();
    requestAnimationFrame((next) => this.tick(next));
  }

  draw() {
    this.changed = false;
    if (this.follows) this.followPicked();
    const opacity = this.runs.map((_, k) => this.overlaid ? (this.runs.length > 1 ? 0.62 : 1) : k === this.run ? 1 : 0.16);
    this.renderer.draw(this.camera, { time: this.time, opacity, night: this.night ? 1 : 0, marks: this.marks(),
      picked: this.picked, run: this.run });
    this.panels.update();
    this.framesDrawn++;
  }

  // What moves time

  advance(seconds) {
    this.leaveEvent();
    this.time = Math.min(this.time + seconds, this.data.end);
    if (this.time >= this.data.end) this.playing = false;
    this.changed = true;
  }

  toggle() {
    if (!this.playing && this.time >= this.data.end) this.time = this.data.start;
    this.playing = !this.playing;
    this.leaveEvent();
    this.changed = true;
  }

  seek(time) {
    this.playing = false;
    this.leaveEvent();
    this.time = clamp(time, this.data.start, this.data.end);
    this.changed = true;
  }

  stepFrames(count) {
    this.seek(this.time + (count * this.speed) / FRAMES_A_SECOND);
  }

  leaveEvent() {
    this.event = null;
    this.stage = this.goal = 0;
  }

  /** Stand still at an event, its impulses complete. */
  standAt(event) {
    this.seek(event.time);
    this.event = event;
    this.stage = this.goal = Math.max(event.stages - 1, 0);
    this.panels.update();
    this.bringIntoView(event);
  }

  /** Move the camera sideways where the contacts of an event are out of the picture or behind the panel. */
  bringIntoView(event) {
    if (!event.contacts) return;
    let middle = [0, 0, 0];
    for (let k = 0; k < event.contacts; k++) middle = add(middle, times(1 / event.contacts, this.current.frame(event, k).point));
    const [right, above, backward] = this.camera.axes();
    const from = sub(middle, this.camera.eye);
    const half = -dot(from, backward) * Math.tan(FIELD_OF_VIEW / 2);
    const free = 2 * (this.panels.freeWidth() / this.canvas.clientWidth) - 1;
    const [x, y] = [dot(from, right) / half / this.aspect, dot(from, above) / half];
    if (half > 0 && Math.abs(y) < 0.7 && x > -0.9 && x < free - 0.1) return;
    this.framed = false;
    this.camera.target = middle;
    this.camera.pan(((1 - free) / 4) * this.aspect, 0);
    this.changed = true;
  }

  /** Go to the nearest of some events, in order of time, after (+1) or before (-1) where we are. */
  stepEvents(events, direction) {
    const here = this.event ? this.event.index : null;
    const later = (event) => (here === null ? event.time > this.time : event.index > here);
    const earlier = (event) => (here === null ? event.time < this.time : event.index < here);
    const found = direction > 0 ? events.find(later) : events.findLast(earlier);
    if (found) this.standAt(found);
    else this.seek(direction > 0 ? this.data.end : this.data.start);
  }

  nextImpact() { this.stepEvents(this.current.impacts, 1); }
  previousImpact() { this.stepEvents(this.current.impacts, -1); }
  nextEvent() { this.stepEvents(this.current.events, 1); }
  previousEvent() { this.stepEvents(this.current.events, -1); }

  // Inside an impact, where time stands still

  get stages() {
    return this.event ? this.event.stages : 0;
  }

  goToStage(stage) {
    if (this.stages < 2) return;
    this.stageRate = STAGES_A_SECOND;
    this.goal = clamp(Math.round(stage), 0, this.stages - 1);
    this.changed = true;
  }

  stageOn() {
    const finished = this.goal >= this.stages - 1;
    if (finished) this.stage = 0;
    this.goToStage(finished ? 0 : this.goal + 1);
  }

  stageBack() { this.goToStage(this.goal - 1); }

  replayImpact() {
    if (this.stages < 2) return;
    this.stage = 0;
    this.goToStage(this.stages - 1);
    this.stageRate = Math.min(STAGES_A_SECOND, Math.max(this.goal / IMPACT_SECONDS, 1));
  }

  // What is shown

  slower() { this.speed = SPEEDS.findLast((speed) => speed < this.speed * 0.999) || this.speed; this.changed = true; }
  faster() { this.speed = SPEEDS.find((speed) => speed > this.speed * 1.001) || this.speed; this.changed = true; }
  toggleTheme() { this.night = !this.night; this.applyTheme(); }
  toggleHelp() { this.panels.help.hidden = !this.panels.help.hidden; }
  show(what) { this.shows[what] = !this.shows[what]; this.changed = true; }

  /** See the whole motion, above the bar, until the camera is moved: also in a window of another size. */
  frameAll() {
    this.follows = false;
    this.framed = true;
    this.camera.frameAll(this.aspect);
    this.camera.pan(0, -0.04);
    this.changed = true;
  }

  applyTheme() {
    document.documentElement.classList.toggle("dark", this.night);
    this.changed = true;
  }

  /** Pick a run by its number from 0, or lay all over each other. */
  chooseRun(number) {
    this.overlaid = number === null && this.runs.length > 1;
    if (number !== null && number < this.runs.length) this.run = number;
    this.leaveEvent();
    this.changed = true;
  }

  pickBody(x, y) {
    this.picked = this.renderer.pick(this.run, this.time, this.camera.eye, this.camera.ray(x, y, this.aspect));
    if (this.picked < 0) this.follows = false;
    this.changed = true;
  }

  toggleFollow() {
    this.follows = !this.follows && this.picked >= 0;
    this.changed = true;
  }

  followPicked() {
    const body = this.current.shown.find((one) => one.body === this.picked);
    this.framed = false;
    if (body) this.camera.target = this.current.pose(body, this.time).place;
  }

  /** Instances of arrows, contact points and friction cones. */
  marks() {
    const marks = { arrows: [], dots: [], cones: [] };
    if (this.shows.contacts || this.shows.cones) {
      const shown = this.overlaid ? this.runs : [this.current];
      for (const run of shown) {
        if (run === this.current && this.event) this.markEvent(marks, run, this.event, this.stage);
        else if (!this.event) for (const event of this.recent(run)) this.markEvent(marks, run, event, event.stages - 1);
      }
    }
    if (this.shows.velocities) this.markVelocities(marks.arrows);
    return marks;
  }

  /** Events that have just happened. */
  recent(run) {
    const first = countUpTo(run.eventTimes, this.time - ARROW_SECONDS * this.speed);
    return run.events.slice(first, countUpTo(run.eventTimes, this.time)).slice(-100);
  }

  markEvent(marks, run, event, stage) {
    const size = clamp(this.camera.distance / 3, 0, 1);
    for (let contact = 0; contact < event.contacts; contact++) {
      const { point, axes, friction } = run.frame(event, contact);
      const inWorld = (numbers) => axes.reduce((sum, axis, k) => add(sum, times(numbers[k], axis)), [0, 0, 0]);
      const mode = event.stages ? run.mode(event, contact, stage).colour : [0.5, 0.5, 0.55];
      const radius = 0.011 * this.camera.distance / 2.4;
      if (this.shows.contacts)
        marks.dots.push(...instance([[radius, 0, 0], [0, radius, 0], [0, 0, radius]], point, mode, 0));
      const impulse = run.impulse(event, contact, stage);
      const strength = length(impulse) / (run.strongest || 1);
      if (this.shows.contacts && strength > 1e-6)
        marks.arrows.push(...along(point, times(0.35 * size * Math.max(Math.sqrt(strength), 0.08), unit(inWorld(impulse))), ARROW_COLOUR));
      if (this.shows.contacts && event === this.event && event.stages) {
        const velocity = run.contactVelocity(event, contact, stage);
        const speed = length(velocity) / event.velocityScale;
        if (speed > 1e-4) marks.arrows.push(...along(point, times(0.28 * size * speed, unit(inWorld(velocity))), VELOCITY_COLOUR, 0.8));
      }
      if (this.shows.cones && friction > 0) {
        const height = 0.22 * size;
        marks.cones.push(...along(point, times(height, axes[0]), [1.0, 0.83, 0.3], friction));
      }
    }
  }

  markVelocities(arrows) {
    const run = this.current;
    const fastest = Math.max(...run.shown.map((body) => body.speed)) * run.scale || 1;
    for (const body of run.shown) {
      const velocity = run.speedOf(body, this.time);
      const size = (0.5 * length(velocity)) / fastest;
      if (size > 1e-3) arrows.push(...along(run.pose(body, this.time).place, times(size, unit(velocity)), VELOCITY_COLOUR, 0.7));
    }
  }
}

// -- panels and timeline --------------------------------------------------------------------------------------

const cell = (text, kind = "td") => Object.assign(document.createElement(kind), { textContent: text });
const css = (colour) => `rgb(${colour.map((x) => Math.round(255 * x)).join(" ")})`;
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const number = (value) => (Math.abs(value) < 1e-12 ? "0" : Number(value.toPrecision(3)).toString()).replace("-", "−");

function signed(value, scale) {
  if (Math.abs(value) < 1e-4 * scale) return "0";
  return number(value);
}

class Panels {
  constructor(player) {
    this.player = player;
    for (const name of ["event", "runs", "body", "impact", "help", "timeline", "time", "speed", "legend", "play"])
      this[name] = document.getElementById(name);
    for (const [keys, meaning] of HELP) {
      const entry = document.createElement("div");
      entry.append(cell(keys, "kbd"), cell(meaning, "span"));
      this.help.append(entry);
    }
    this.makeRuns();
    this.rowsOf = null;
    this.impact.querySelector("input").addEventListener("input", (happening) => {
      player.stage = player.goal = Number(happening.target.value);
      player.changed = true;
    });
    for (const button of document.querySelectorAll("[data-do]"))
      button.addEventListener("click", () => {
        player[button.dataset.do]();
        player.canvas.focus({ preventScroll: true });
      });
  }

  makeRuns() {
    const { runs } = this.player;
    document.body.classList.toggle("overlaid", runs.length > 1);
    this.runs.hidden = runs.length < 2;
    const entries = [...runs.map((run, k) => [run.label, css(run.colour), k, String(k + 1)]), ["all", "transparent", null, "0"]];
    for (const [label, colour, choice, key] of entries) {
      const button = document.createElement("button");
      const mark = document.createElement("i");
      mark.style.background = colour;
      button.append(mark, `${label} `, cell(key, "kbd"));
      button.addEventListener("click", () => this.player.chooseRun(choice));
      this.runs.append(button);
    }
  }

  update() {
    const { player } = this;
    const { runs, run, overlaid } = player;
    [...this.runs.children].forEach((button, k) =>
      button.classList.toggle("picked", k === runs.length ? overlaid : !overlaid && k === run));
    this.event.textContent = this.eventText();
    this.play.classList.toggle("playing", player.playing);
    this.speed.textContent = `${player.speed}×`;
    this.time.textContent = `t = ${player.time.toFixed(player.decimals)} s`;
    this.updateLegend();
    this.updateBody();
    this.updateImpact();
    this.drawTimeline();
  }

  eventText() {
    const run = this.player.current;
    const reached = countUpTo(run.eventTimes, this.player.time);
    const event = this.player.event || run.events[reached - 1];
    const who = run.law && this.player.runs.length === 1 ? `${run.label} · ` : "";
    if (!run.events.length) return `${who}no events`;
    if (!event) return `${who}before the first of ${plural(run.events.length, "event")}`;
    const contacts = event.contacts ? `, ${plural(event.contacts, "contact")}` : "";
    return `${who}event ${event.index + 1} of ${run.events.length}: ${event.kind.replace("_", "-")}${contacts}`;
  }

  updateLegend() {
    const run = this.player.current;
    if (this.legendOf === run) return;
    this.legendOf = run;
    this.legend.replaceChildren(...run.kinds.map((kind) => {
      const entry = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = KIND_COLOURS[kind] || "#888";
      mark.style.height = "10px";
      entry.append(mark, `${run.events.filter((event) => event.kind === kind).length} ${kind.replace("_", "-")}`);
      return entry;
    }));
  }

  updateBody() {
    const { player } = this;
    const run = player.current;
    const shown = run.shown.find((one) => one.body === player.picked);
    this.body.hidden = !shown;
    if (!shown) return;
    const { name, mass } = run.bodies[player.picked];
    const lines = [mass === null ? "fixed" : `${number(mass)} kg`];
    if (mass !== null) lines.push(`${number(length(run.speedOf(shown, player.time)))} m/s`);
    const touches = (event) => {
      for (let k = 0; k < event.contacts; k++) if (run.frame(event, k).bodies.includes(player.picked)) return true;
      return false;
    };
    const last = run.impacts.slice(0, countUpTo(run.impactTimes, player.time)).findLast(touches);
    if (last) lines.push(`last impact at ${last.time.toFixed(player.decimals)} s`);
    lines.push(player.follows ? "followed (G)" : "G follows it");
    this.body.replaceChildren(cell(name, "b"), lines.join(" · "));
  }

  /** Pixels from the left that the panel of an impact leaves free. */
  freeWidth() {
    const width = this.player.canvas.clientWidth;
    return this.impact.hidden || width < 600 ? width : this.impact.offsetLeft;
  }

  updateImpact() {
    const { player } = this;
    const { event, current: run } = player;
    this.impact.hidden = !event || !event.stages;
    if (this.impact.hidden) return;
    const stage = Math.floor(player.stage + 1e-6);
    const part = (selector) => this.impact.querySelector(selector);
    part("h2").textContent = `Inside the impact: time stands still at ${player.time.toFixed(player.decimals)} s`;
    part(".note").textContent = [event.note, `energy ${signed(event.energy, 1e-9)} J`].filter(Boolean).join(" · ");
    Object.assign(part("input"), { max: event.stages - 1, value: player.goal });
    part(".stage").textContent = `stage ${stage} of ${event.stages - 1}: ${run.stageLabel(event, player.stage)}`;
    part("thead").replaceChildren(row(["contact", "uₙ m/s", "|uₜ|", "Λₙ N s", "|Λₜ|", ""].map((text) => cell(text, "th"))));
    part("tbody").replaceChildren(...Array.from({ length: Math.min(event.contacts, 40) }, (_, contact) => {
      const velocity = run.contactVelocity(event, contact, player.stage);
      const impulse = run.impulse(event, contact, player.stage);
      const names = run.frame(event, contact).bodies.map((body) => run.bodies[body].name).join(" – ");
      const mode = run.mode(event, contact, player.stage);
      const last = cell("●");
      last.style.color = css(mode.colour);
      last.title = mode.word;
      return row([cell(names), cell(signed(velocity[0], event.velocityScale)),
        cell(signed(Math.hypot(velocity[1], velocity[2]), event.velocityScale)), cell(signed(impulse[0], event.impulseScale)),
        cell(signed(Math.hypot(impulse[1], impulse[2]), event.impulseScale)), last]);
    }));
  }

  drawTimeline() {
    const { player, timeline } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [timeline.clientWidth, timeline.clientHeight];
    Object.assign(timeline, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const style = getComputedStyle(document.documentElement);
    const pen = timeline.getContext("2d");
    pen.scale(ratio, ratio);
    const place = (time) => this.placeOf(time);
    const bar = (from, to, name) => {
      pen.fillStyle = style.getPropertyValue(name);
      pen.fillRect(from, height / 2 + 4, to - from, 4);
    };
    bar(place(player.data.start), place(player.data.end), "--track");
    bar(place(player.data.start), place(player.time), "--accent");
    for (const [x, kind] of this.marksOnTimeline()) {
      pen.fillStyle = KIND_COLOURS[kind] || "#888";
      const tall = kind === "impact" ? 13 : 8;
      pen.fillRect(x - 1, height / 2 + 2 - tall, 2, tall);
    }
    pen.fillStyle = style.getPropertyValue("--accent");
    pen.beginPath();
    pen.arc(place(player.time), height / 2 + 6, 7, 0, 2 * Math.PI);
    pen.fill();
  }

  /** Where events lie on the timeline, in whole pixels, and their kinds, each once. */
  marksOnTimeline() {
    const run = this.player.current;
    const width = this.timeline.clientWidth;
    if (this.marks && this.marks.run === run && this.marks.width === width) return this.marks.found;
    const found = new Map();
    for (const event of run.events) {
      const x = Math.round(this.placeOf(event.time));
      found.set(`${x} ${event.kind}`, [x, event.kind]);
    }
    this.marks = { run, width, found: [...found.values()] };
    return this.marks.found;
  }

  placeOf(time) {
    const { start, end } = this.player.data;
    return 9 + (end > start ? (time - start) / (end - start) : 0) * (this.timeline.clientWidth - 18);
  }

  timeAt(x) {
    const { start, end } = this.player.data;
    return start + ((x - 9) / (this.timeline.clientWidth - 18)) * (end - start);
  }
}

function row(cells) {
  const found = document.createElement("tr");
  found.append(...cells);
  return found;
}

// -- keys, mouse and touch ------------------------------------------------------------------------------------

function listen(player) {
  const { canvas, camera, panels } = player;
  const frames = (happening) => (happening.shiftKey ? 10 : 1);
  const actions = {
    " ": () => player.toggle(), ArrowLeft: (e) => player.stepFrames(-frames(e)), ArrowRight: (e) => player.stepFrames(frames(e)),
    "[": () => player.previousImpact(), "]": () => player.nextImpact(),
    ";": () => player.previousEvent(), "'": () => player.nextEvent(),
    ArrowUp: () => player.stageBack(), ArrowDown: () => player.stageOn(), Enter: () => player.replayImpact(),
    ",": () => player.slower(), ".": () => player.faster(),
    Home: () => player.seek(player.data.start), End: () => player.seek(player.data.end),
    f: () => player.frameAll(), g: () => player.toggleFollow(), c: () => player.show("contacts"), k: () => player.show("cones"),
    v: () => player.show("velocities"), b: () => player.toggleTheme(), h: () => player.toggleHelp(),
    Escape: () => { panels.help.hidden = true; }, 0: () => player.chooseRun(null),
  };
  for (let k = 1; k <= 9; k++) actions[k] = () => k <= player.runs.length && player.chooseRun(k - 1);
  addEventListener("keydown", (happening) => {
    if (happening.ctrlKey || happening.metaKey || happening.altKey) return;
    const action = actions[happening.key.length === 1 ? happening.key.toLowerCase() : happening.key];
    if (!action) return;
    action(happening);
    happening.preventDefault();
  });
  new ResizeObserver(() => player.resize()).observe(canvas);
  listenToPointers(player, canvas, camera);
  listenToTimeline(player, panels);
}

function listenToPointers(player, canvas, camera) {
  const pointers = new Map();
  let moved = 0;
  let apart = 0;
  const distance = () => {
    const [one, two] = [...pointers.values()];
    return Math.hypot(one.x - two.x, one.y - two.y);
  };
  canvas.addEventListener("contextmenu", (happening) => happening.preventDefault());
  canvas.addEventListener("pointerdown", (happening) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(happening.pointerId);
    pointers.set(happening.pointerId, { x: happening.offsetX, y: happening.offsetY });
    moved = 0;
    if (pointers.size === 2) apart = distance();
  });
  canvas.addEventListener("pointermove", (happening) => {
    const before = pointers.get(happening.pointerId);
    if (!before) return;
    const [dx, dy] = [happening.offsetX - before.x, happening.offsetY - before.y];
    Object.assign(before, { x: happening.offsetX, y: happening.offsetY });
    moved += Math.abs(dx) + Math.abs(dy);
    const height = canvas.clientHeight;
    if (pointers.size === 2) {
      const now = distance();
      camera.zoom(apart / now);
      apart = now;
      camera.pan(-dx / height / 2, dy / height / 2);
    } else if (happening.buttons & 6 || happening.shiftKey) camera.pan(-dx / height, dy / height);
    else camera.orbit((-dx * 4) / height, (dy * 4) / height);
    player.framed = false;
    player.changed = true;
  });
  const release = (happening) => {
    if (!pointers.delete(happening.pointerId) || moved > 4 || happening.type !== "pointerup") return;
    player.pickBody((2 * happening.offsetX) / canvas.clientWidth - 1, 1 - (2 * happening.offsetY) / canvas.clientHeight);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("wheel", (happening) => {
    camera.zoom(Math.exp(clamp(happening.deltaY, -200, 200) * 0.0015));
    player.framed = false;
    player.changed = true;
    happening.preventDefault();
  }, { passive: false });
}

function listenToTimeline(player, panels) {
  const { timeline } = panels;
  const scrub = (happening) => player.seek(panels.timeAt(happening.offsetX));
  timeline.addEventListener("pointerdown", (happening) => {
    timeline.setPointerCapture(happening.pointerId);
    scrub(happening);
  });
  timeline.addEventListener("pointermove", (happening) => {
    if (happening.buttons) scrub(happening);
    const run = player.current;
    const near = run.events.find((event) => Math.abs(panels.placeOf(event.time) - happening.offsetX) < 3);
    timeline.title = near ? `${near.kind.replace("_", "-")} at ${near.time.toFixed(player.decimals)} s` : "";
  });
}

// -- start ----------------------------------------------------------------------------------------------------

readData().then((data) => { globalThis.caromPlayer = new Player(data); }).catch((error) => {
  const message = document.getElementById("message");
  message.textContent = error.message;
  message.hidden = false;
  throw error;
});
