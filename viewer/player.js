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

/** How far two quaternions are apart, the second with a sign, as the points of a body of radius 1. */
const length4 = (a, b, sign) => 2 * Math.hypot(...a.map((value, k) => value - sign * b[k]));

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
class Run {
  constructor(words, number, data) {
    Object.assign(this, words);
    this.colour = data.look.runs[number % data.look.runs.length];
    this.modes = data.look.modes;
    this.charts = words.charts.map((chart) => ({ ...chart, lines: chart.lines.map((line) =>
      ({ ...line, x: data.column(`${line.columns}/x`), y: data.column(`${line.columns}/y`) })) }));
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
    this.forces = words.noForces ? null : this.readForces(column);
    this.events = this.readEvents(column);
    this.eventTimes = Float64Array.from(this.events, (event) => event.time);
    this.impacts = this.events.filter((event) => event.kind === "impact");
    this.impactTimes = Float64Array.from(this.impacts, (event) => event.time);
    this.strongest = 0;
    for (const event of this.events)
      for (let contact = 0; contact < event.contacts; contact++)
        this.strongest = Math.max(this.strongest, length(this.impulse(event, contact, event.stages - 1)));
  }

  readForces(column) {
    const names = ["times", "joined", "counts", "point", "force", "torque", "unique"];
    const found = Object.fromEntries(names.map((name) => [name, column("force/" + name)]));
    found.first = [0];
    for (const count of found.counts) found.first.push(found.first.at(-1) + count);
    return found;
  }

  /** Forces of contacts and joints at a time: points, forces [N], torques [N m], and whether the motion admits others. */
  forcesAt(time) {
    const { times: known, joined, counts, first, unique, ...values } = this.forces;
    const one = countUpTo(known, time) - 1;
    if (one < 0) return [];
    const share = joined[one] && known[one + 1] > known[one] ? clamp((time - known[one]) / (known[one + 1] - known[one]), 0, 1) : 0;
    return Array.from({ length: counts[one] }, (_, k) => {
      const at = (name) => {
        const before = this.vector(values[name], first[one] + k, 1 - share);
        return share ? add(before, this.vector(values[name], first[one + 1] + k, share)) : before;
      };
      return { point: at("point"), force: at("force"), torque: at("torque"), unique: Boolean(unique[first[one] + k]) };
    });
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
    if (normal < -least) return { word: "approaching", colour: APPROACHING };
    const word = normal > least ? "separating" : Math.hypot(first, second) > least ? "sliding" : "sticking";
    return { word, colour: this.modes[word] };
  }
}

const APPROACHING = [0.86, 0.16, 0.22];

// -- camera ---------------------------------------------------------------------------------------------------

const FIELD_OF_VIEW = (38 * Math.PI) / 180;
const STEEPEST = (89 * Math.PI) / 180;

class Camera {
  constructor(data) {
    this.up = data.up;
    this.data = data;
    this.azimuth = data.azimuth;
    this.elevation = clamp(data.elevation, -STEEPEST, STEEPEST);
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

  /** See a box from just so far that all of its corners are in the picture, above the bar. */
  frame(lower, upper, aspect) {
    this.target = times(0.5, add(lower, upper));
    const half = Math.tan(FIELD_OF_VIEW / 2) / this.data.look.margin;
    const axes = this.axes();
    this.distance = 1e-4;
    for (let corner = 0; corner < 8; corner++) {
      const at = sub([0, 1, 2].map((k) => (corner & (1 << k) ? upper[k] : lower[k])), this.target);
      const [x, y, z] = axes.map((axis) => dot(axis, at));
      this.distance = Math.max(this.distance, z + Math.max(Math.abs(y), Math.abs(x) / aspect) / half);
    }
    this.pan(0, -0.05);
  }
}

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
const ringMesh = () => revolved([[1, 0], [0.94, 0]], 48, true);
const coneMesh = () => revolved([[0, 0], [1, 1]], 40, true);

function meshOfData(data, words, spheres) {
  if (words.sphere) return sphereMesh(spheres <= 20 ? 32 : spheres <= 200 ? 20 : 10);
  const [places, normals, indices] = ["places", "normals", "indices"].map((name) => data.column(words.columns + name));
  return { places: Float32Array.from(places, (x) => x / WHOLE), normals: Float32Array.from(normals, (x) => x / 127),
    indices };
}

// -- drawing --------------------------------------------------------------------------------------------------

const SHADOW_SIZE = 2048;

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

/** The meshes of bodies, each with instances that are placed anew for everything that is drawn. */
class Heap {
  constructor(gl, sources) {
    this.meshes = sources.map((source) => new InstancedMesh(gl, source));
    this.numbers = sources.map(() => []);
  }

  clear() {
    this.numbers = this.numbers.map(() => []);
  }

  add(mesh, numbers) {
    const room = this.numbers[mesh];
    for (const number of numbers) room.push(number);
  }

  get empty() {
    return this.numbers.every((numbers) => !numbers.length);
  }

  draw() {
    this.meshes.forEach((mesh, k) => {
      if (!this.numbers[k].length) return;
      mesh.place(this.numbers[k]);
      mesh.draw();
    });
  }
}

class Renderer {
  constructor(canvas, data, runs) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser offers no WebGL 2, which the player draws with.");
    this.gl = gl;
    this.data = data;
    this.runs = runs;
    const { shaders } = data;
    this.programs = {
      body: new Program(gl, shaders.body_vertex, shaders.body),
      shadow: new Program(gl, shaders.body_vertex, shaders.shadow),
      floor: new Program(gl, shaders.floor_vertex, shaders.floor),
      sky: new Program(gl, shaders.sky_vertex, shaders.sky),
    };
    const spheres = runs.reduce((sum, run) => sum + run.shown.filter((body) => body.mesh === 0).length, 0);
    this.sources = data.meshes.map((words) => meshOfData(data, words, spheres));
    this.heap = new Heap(gl, this.sources);
    this.arrows = new InstancedMesh(gl, arrowMesh());
    this.dots = new InstancedMesh(gl, sphereMesh(12));
    this.cones = new InstancedMesh(gl, coneMesh());
    this.rings = new InstancedMesh(gl, ringMesh());
    this.nothing = gl.createVertexArray();
    this.makeShadowMap();
    const [east, north] = perpendiculars(data.up);
    this.light = unit(sub(sub(times(0.9, data.up), times(0.22, east)), times(0.48, north)));
    this.lightMatrix = this.matrixOfLight();
  }

  /** Whether densities can be drawn: what they need is made when they are first asked for. */
  get countsBodies() {
    if (this.counts === undefined) this.counts = this.gl.getExtension("EXT_color_buffer_float") ? new Counts(this.gl, this.data) : null;
    return this.counts !== null;
  }

  makeShadowMap() {
    const gl = this.gl;
    this.shadowTexture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadowTexture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
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

  /** Draw what a picture says: layers of bodies, marks, and of which theme it is. */
  draw(camera, picture) {
    const gl = this.gl;
    const { width, height } = gl.canvas;
    const theme = this.data.look.themes[picture.night ? 1 : 0];
    const throwing = picture.layers.filter((layer) => layer.shadow);
    this.arrows.place(picture.marks.arrows);
    this.dots.place(picture.marks.dots);
    this.cones.place(picture.marks.cones);
    this.rings.place(picture.marks.rings);
    this.drawShadows(throwing);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT | gl.COLOR_BUFFER_BIT);
    const seen = { view_projection: camera.matrix(width / height), eye: camera.eye, orthographic: 0 };
    const strength = Math.min(1, ...throwing.filter((layer) => !layer.bodies.empty).map((layer) => layer.opacity));
    const shared = { ...seen, light: this.light, up: this.data.up, light_matrix: this.lightMatrix,
      shadow_texel: (2.04 * this.data.shadowReach) / SHADOW_SIZE, shadow_strength: strength,
      ambient_below: theme.ambient_below, ambient_above: theme.ambient_above, sun: theme.sun };
    this.drawSky(camera, width / height, theme);
    gl.bindTexture(gl.TEXTURE_2D, this.shadowTexture);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    this.programs.floor.use({ ...shared, dark_tile: theme.dark_tile, light_tile: theme.light_tile });
    for (const plane of this.data.planes) this.drawFloor(plane, camera);
    this.programs.body.use({ ...shared, opacity: 1, gloss: 0.28 });
    gl.disable(gl.BLEND);
    for (const layer of picture.layers) if (layer.opacity >= 1 && !layer.counted) this.drawLayer(layer);
    this.dots.draw();
    this.arrows.draw();
    this.rings.draw();
    const counted = picture.layers.filter((layer) => layer.counted);
    if (counted.length) {
      this.counts.draw(seen, counted, picture.layers.filter((layer) => layer.opacity >= 1 && !layer.counted), this.runs.length);
      gl.bindTexture(gl.TEXTURE_2D, this.shadowTexture);
      this.programs.body.use({});
    }
    this.drawTranslucent(picture);
  }

  drawLayer(layer) {
    const gl = this.gl;
    if (layer.line) {
      gl.enable(gl.CULL_FACE);
      gl.cullFace(gl.FRONT);
      this.programs.body.set("gloss", 0);
    }
    layer.bodies.draw();
    if (layer.line) {
      gl.cullFace(gl.BACK);
      gl.disable(gl.CULL_FACE);
      this.programs.body.set("gloss", 0.28);
    }
  }

  /** What is seen through, friction cones, and arrows and contacts once more through the bodies. */
  drawTranslucent(picture) {
    const gl = this.gl;
    const body = this.programs.body;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.CULL_FACE);
    gl.depthMask(false);
    body.set("shadow_strength", 0);
    for (const layer of picture.layers) {
      if (layer.opacity >= 1 || layer.opacity <= 0 || layer.counted) continue;
      body.set("opacity", layer.opacity);
      layer.bodies.draw();
    }
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    body.set("opacity", 0.25);
    this.cones.draw();
    body.set("opacity", 0.75);
    this.rings.draw();
    gl.enable(gl.CULL_FACE);
    this.arrows.draw();
    this.dots.draw();
    gl.disable(gl.CULL_FACE);
    gl.depthMask(true);
  }

  drawShadows(layers) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowFramebuffer);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.disable(gl.BLEND);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.programs.shadow.use({ view_projection: this.lightMatrix });
    for (const layer of layers) layer.bodies.draw();
  }

  drawSky(camera, aspect, theme) {
    const gl = this.gl;
    const origin = camera.ray(0, 0, aspect);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    this.programs.sky.use({ up: this.data.up, sky: theme.sky, horizon: theme.horizon, ground: theme.ground, ray_origin: origin,
      ray_right: sub(camera.ray(1, 0, aspect), origin), ray_above: sub(camera.ray(0, 1, aspect), origin) });
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** A plane seen from its front; from behind it would hide the bodies. */
  drawFloor({ normal, offset }, camera) {
    if (dot(normal, camera.eye) <= offset) return;
    const gl = this.gl;
    const [first, second] = perpendiculars(normal);
    const centre = times(1 / this.data.scale, this.data.centre);
    const fade = 8 * Math.max(camera.distance, 1);
    const even = (axis) => (((dot(centre, axis) / this.data.tile) % 2) + 2) % 2;
    const uniforms = { first_axis: first, second_axis: second, plane_normal: normal, reach: 2.6 * fade, fade_distance: fade,
      middle: sub(camera.target, times(dot(normal, camera.target) - offset, normal)),
      tile_origin: [even(first), even(second)], tiles_per_unit: 1 / this.data.tile };
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

/** How many outcomes have a body at each place, as colours over what is drawn. */
class Counts {
  constructor(gl, data) {
    this.gl = gl;
    this.count = new Program(gl, data.shaders.body_vertex, data.shaders.count);
    this.density = new Program(gl, data.shaders.density_vertex, data.shaders.density);
    this.framebuffer = gl.createFramebuffer();
    this.nothing = gl.createVertexArray();
    this.size = [0, 0];
  }

  resize(width, height) {
    const gl = this.gl;
    if (this.size[0] === width && this.size[1] === height) return;
    this.size = [width, height];
    gl.deleteTexture(this.texture);
    gl.deleteRenderbuffer(this.depth);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R16F, width, height);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
    this.depth = gl.createRenderbuffer();
    gl.bindRenderbuffer(gl.RENDERBUFFER, this.depth);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT24, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, this.depth);
  }

  /** Count the bodies of some layers, where others do not hide them, and colour by `most`, the number of all runs. */
  draw(seen, counted, hiding, most) {
    const gl = this.gl;
    const { width, height } = gl.canvas;
    this.resize(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.depthMask(true);
    gl.clearBufferfv(gl.COLOR, 0, [0, 0, 0, 0]);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.count.use({ view_projection: seen.view_projection });
    gl.disable(gl.BLEND);
    gl.colorMask(false, false, false, false);
    for (const layer of hiding) layer.bodies.draw();
    gl.colorMask(true, true, true, true);
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE);
    gl.enable(gl.CULL_FACE);
    for (const layer of counted) layer.bodies.draw();
    gl.disable(gl.CULL_FACE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.disable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    this.density.use({ most });
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.enable(gl.DEPTH_TEST);
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

const PLOTS = ["none", "beside", "large"];
const LINE_WIDTH = 0.012; // stage units, of a line around a body

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
    this.shows = { contacts: true, impulses: true, cones: false, velocities: false, forces: false, ghosts: false, seeThrough: false,
      density: false };
    this.plots = "none";
    this.playsImpacts = false;
    this.invites = true; // until anything is done
    this.layers = [];
    this.night = matchMedia("(prefers-color-scheme: dark)").matches;
    this.framesDrawn = 0;
    this.decimals = clamp(3 - Math.floor(Math.log10(data.end - data.start || 1)), 3, 12);
    this.panels = new Panels(this);
    listen(this);
    this.byTime = data.frames.settlesSmall; // the camera keeps what still moves in the picture
    this.framed = true;
    this.frames = data.column("frames");
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
    this.changed = true;
  }

  tick(now) {
    const passed = Math.min((now - this.lastTick) / 1000, 0.25);
    this.lastTick = now;
    if (this.playing && this.stage === this.goal) this.advance(passed * this.speed);
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
    if (this.framed) this.keepFrame();
    if (this.follows) this.followPicked();
    this.renderer.draw(this.camera, { layers: this.pictureLayers(), marks: this.marks(), night: this.night });
    this.panels.update();
    this.framesDrawn++;
  }

  // What the picture is made of

  /** Bodies to draw, in layers of one opacity each. */
  pictureLayers() {
    this.used = 0;
    const { look } = this.data;
    const chosen = this.overlaid ? null : this.run;
    const several = this.runs.length > 1;
    const poses = this.runs.map((run) => run.shown.map((body) => run.pose(body, this.time)));
    const fixed = this.layer({ opacity: 1, shadow: true });
    this.runs[0].shown.forEach((body, k) => {
      if (this.runs[0].bodies[body.body].fixed) this.addBody(fixed, 0, body, poses[0][k], null);
    });
    if (this.shows.density && several) {
      const counted = this.layer({ opacity: 1, counted: true });
      this.runs.forEach((run, number) => this.addMoving(counted, number, poses[number], null));
      if (chosen !== null) this.addMoving(this.layer({ opacity: 0.6 }), chosen, poses[chosen], null);
      return this.layers.slice(0, this.used);
    }
    const clear = (opacity) => (this.shows.seeThrough ? Math.min(opacity, look.seeThrough) : opacity);
    const leaders = several && this.runs.length <= look.compared ? this.samePlaces(poses) : null;
    const among = clamp(1.7 / this.runs.length, 0.09, 0.62);
    this.runs.forEach((run, number) => {
      const own = !several || number === chosen;
      const opacity = own ? 1 : chosen === null ? among : Math.min(look.faded, among);
      const layer = this.layer({ opacity: clear(opacity), shadow: own || (chosen === null && this.runs.length <= 12) });
      const alone = (k) => own || !leaders || leaders[number][k].length === 1;
      this.addMoving(layer, number, poses[number], own ? null : run.colour, alone);
    });
    if (leaders) this.addShared(leaders, poses, chosen, clear(chosen === null ? 1 : look.faded));
    if (this.shows.ghosts) this.addGhosts(chosen);
    return this.layers.slice(0, this.used);
  }

  /** Bodies that look the same in several runs: once, in their own colours where that is so in all, else in that of
   * the first run with a line around in that of each other. */
  addShared(leaders, poses, chosen, opacity) {
    const layer = this.layer({ opacity, shadow: chosen === null });
    const lines = this.layer({ opacity: 1, line: true });
    leaders.forEach((row, number) => row.forEach((members, k) => {
      if (members.length < 2 || members[0] !== number || members.includes(chosen)) return;
      const run = this.runs[number];
      const all = members.length === this.runs.length;
      this.addBody(layer, number, run.shown[k], poses[number][k], all ? null : run.colour);
      if (!all && opacity >= 1)
        members.slice(1).forEach((other, width) => {
          const body = run.shown[k];
          const wider = body.radius * (1 + ((width + 1) * LINE_WIDTH) / Math.max(body.radius, 0.05));
          this.addBody(lines, number, { ...body, radius: wider, colour: [...this.runs[other].colour, 0] }, poses[number][k], null);
        });
    }));
  }

  /** For each run and shown body, the runs in which it looks the same, that of the lowest number first. */
  samePlaces(poses) {
    const { same } = this.data.look;
    const near = (a, b, radius) => length(sub(a.place, b.place)) < same &&
      Math.min(length4(a.orientation, b.orientation, 1), length4(a.orientation, b.orientation, -1)) * radius < same;
    const found = this.runs.map((run) => run.shown.map(() => null));
    this.runs.forEach((run, number) => run.shown.forEach((body, k) => {
      if (found[number][k]) return;
      const members = [number];
      found[number][k] = members;
      for (let other = number + 1; other < this.runs.length; other++) {
        const mate = this.runs[other].shown[k];
        if (!mate || found[other][k] || mate.mesh !== body.mesh || mate.radius !== body.radius) continue;
        if (this.runs[other].shown.length !== run.shown.length || !near(poses[number][k], poses[other][k], body.radius)) continue;
        members.push(other);
        found[other][k] = members;
      }
    }));
    return found;
  }

  addGhosts(chosen) {
    const { look, start, end } = this.data;
    const shown = this.runs.map((_, number) => number).filter((number) => chosen === null || number === chosen);
    const step = (end - start) / look.ghostTimes;
    const latest = Math.ceil((this.time - start) / step - 1e-9) - 1;
    for (let age = 0; age < look.ghosts && latest - age >= 0; age++) {
      const layer = this.layer({ opacity: (0.36 * (1 - age / look.ghosts)) / Math.sqrt(shown.length) });
      for (const number of shown) {
        const run = this.runs[number];
        const poses = run.shown.map((body) => run.pose(body, start + (latest - age) * step));
        this.addMoving(layer, number, poses, this.runs.length > 1 ? run.colour : look.ghost);
      }
    }
  }

  /** An empty layer, of those that were made once. */
  layer(words) {
    if (this.used === this.layers.length) this.layers.push({ bodies: new Heap(this.renderer.gl, []) });
    const { bodies } = this.layers[this.used];
    bodies.meshes = this.renderer.heap.meshes;
    bodies.numbers = bodies.meshes.map(() => []);
    this.layers[this.used] = { shadow: false, counted: false, line: false, ...words, bodies };
    return this.layers[this.used++];
  }

  addMoving(layer, number, poses, tint, chosen = () => true) {
    const run = this.runs[number];
    run.shown.forEach((body, k) => {
      if (!run.bodies[body.body].fixed && chosen(k)) this.addBody(layer, number, body, poses[k], tint);
    });
  }

  /** Add a body in its own colour, or mostly in a tint. */
  addBody(layer, number, body, { place, orientation }, tint) {
    const rows = rotation(orientation);
    const share = tint ? this.data.look.tinted : 0;
    const own = body.colour.slice(0, 3);
    const colour = tint ? add(times(1 - share, own), times(share, tint)) : own;
    const picked = body.body === this.picked && number === this.run;
    layer.bodies.add(body.mesh, [...times(body.radius, rows[0]), place[0], ...times(body.radius, rows[1]), place[1],
      ...times(body.radius, rows[2]), place[2], ...colour, picked ? 0.6 : body.colour[3]]);
  }

  // What moves time

  advance(seconds) {
    const before = this.time;
    this.leaveEvent();
    this.changed = true;
    const later = Math.min(before + seconds, this.data.end);
    const next = this.playsImpacts && this.current.impacts[countUpTo(this.current.impactTimes, before)];
    if (next && next.time <= later) {
      this.standAt(next);
      this.replayImpact();
      this.playing = true;
      return;
    }
    this.time = later;
    if (this.time >= this.data.end) this.playing = false;
  }

  toggle() {
    this.invites = false;
    if (!this.playing && this.time >= this.data.end) this.time = this.data.start;
    this.playing = !this.playing;
    this.leaveEvent();
    this.changed = true;
  }

  seek(time) {
    this.playing = this.invites = false;
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
    this.framed = this.follows = false;
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

  toggleForces() {
    this.show("forces");
    const without = this.runs.find((run) => run.noForces);
    if (this.shows.forces && without) this.say(without.noForces);
  }

  toggleDensity() {
    if (this.runs.length < 2) this.say("One run is open: a density needs several outcomes.");
    else if (!this.renderer.countsBodies) this.say("This browser cannot add up numbers in pictures, as a density needs.");
    else this.show("density");
  }

  togglePlayImpacts() {
    this.playsImpacts = !this.playsImpacts;
    this.say(this.playsImpacts ? "Playing stops the clock at every impact while its impulses grow."
      : "Impacts take no time: their impulses grow at once.");
  }

  /** Plots beside the view, then large, then none. */
  nextPlots() {
    if (!this.current.charts.length) return this.say("This run has no ledger, so there are no plots of it.");
    this.plots = PLOTS[(PLOTS.indexOf(this.plots) + 1) % PLOTS.length];
    this.changed = true;
    return undefined;
  }

  say(words) {
    const message = document.getElementById("message");
    message.textContent = words;
    message.hidden = false;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { message.hidden = true; }, 5000);
  }

  /** See the whole motion until the camera is moved: also in a window of another size. */
  frameAll() {
    this.follows = this.byTime = false;
    this.framed = true;
    this.changed = true;
  }

  /** See what still moves from now on, or the whole motion where that is seen already. */
  switchFrame() {
    const byTime = !(this.byTime && this.framed);
    this.frameAll();
    this.byTime = byTime;
    this.say(`In the picture: ${byTime ? "what moves from here on" : "the whole motion"}.`);
  }

  keepFrame() {
    const { lower, upper, start, end } = this.data;
    if (!this.byTime) {
      this.camera.frame(lower, upper, this.aspect);
      return;
    }
    const count = this.frames.length / 6;
    const at = clamp(((this.time - start) / (end - start || 1)) * (count - 1), 0, count - 1);
    const [one, share] = [Math.floor(at), at - Math.floor(at)];
    const two = Math.min(one + 1, count - 1);
    const box = [0, 1, 2, 3, 4, 5].map((k) => (1 - share) * this.frames[6 * one + k] + share * this.frames[6 * two + k]);
    this.camera.frame(box.slice(0, 3), box.slice(3), this.aspect);
  }

  /** Go near to the contacts of this instant, or to the body that was clicked. */
  lookAtImpact() {
    const event = this.event || this.recent(this.current).at(-1);
    const body = this.current.shown.find((one) => one.body === this.picked);
    let points = [];
    if (event && event.contacts) points = Array.from({ length: event.contacts }, (_, k) => this.current.frame(event, k).point);
    else if (body) points = [this.current.pose(body, this.time).place];
    if (!points.length) return this.say("There is no impact at this instant: ] goes to the next one.");
    this.follows = this.framed = false;
    const bound = (choose) => [0, 1, 2].map((k) => choose(...points.map((point) => point[k])));
    const room = [0.25, 0.25, 0.25];
    this.camera.frame(sub(bound(Math.min), room), add(bound(Math.max), room), this.aspect);
    this.changed = true;
    return undefined;
  }

  applyTheme() {
    document.documentElement.classList.toggle("dark", this.night);
    this.changed = true;
  }

  /** Pick the next run, after the last one all of them. */
  chooseNext(step) {
    const places = this.runs.length + 1;
    const now = this.overlaid ? -1 : this.run;
    const next = ((now + 1 + step + places) % places) - 1;
    this.chooseRun(next < 0 ? null : next);
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
    if (this.picked < 0) return this.say("No body is picked: click one to follow it.");
    this.follows = !this.follows;
    this.changed = true;
    return undefined;
  }

  followPicked() {
    const body = this.current.shown.find((one) => one.body === this.picked);
    this.framed = false;
    if (body) this.camera.target = this.current.pose(body, this.time).place;
  }

  /** Instances of arrows, contact points and friction cones. */
  marks() {
    const marks = { arrows: [], dots: [], cones: [], rings: [] };
    if (this.shows.contacts || this.shows.impulses || this.shows.cones) {
      const shown = this.overlaid ? this.runs : [this.current];
      for (const run of shown) {
        if (run === this.current && this.event) this.markEvent(marks, run, this.event, this.stage);
        else if (!this.event) for (const event of this.recent(run)) this.markEvent(marks, run, event, event.stages - 1);
      }
    }
    if (this.shows.velocities) this.markVelocities(marks.arrows);
    if (this.shows.forces)
      for (const run of this.overlaid ? this.runs : [this.current]) if (run.forces) this.markForces(marks, run);
    return marks;
  }

  /** Arrows of forces and torques, as long as in the window. */
  markForces(marks, run) {
    const { look, arrow } = this.data;
    const found = run.forcesAt(this.time);
    const largest = Math.max(...found.map(({ force }) => length(force)), 0);
    const share = Math.sqrt(Math.min(largest / (run.weight || largest), 1));
    const lead = arrow * Math.max(share, look.shortestLead);
    const draw = (point, vector, colour) => {
      const size = length(vector);
      if (size > 0.01 * arrow) marks.arrows.push(...along(point, vector, colour, Math.max(1, (0.6 * arrow) / size)));
    };
    if (largest > 0)
      for (const { point, force, unique } of found) draw(point, times(lead / largest, force), unique ? look.force : look.undecided);
    const turning = found.filter(({ force, torque }) => length(torque) > look.leastTorque * length(force) * run.scale);
    const strongest = Math.max(...turning.map(({ torque }) => length(torque)));
    for (const { point, torque, unique } of turning) {
      const axis = times((look.torqueArrow * arrow) / strongest, torque);
      const colour = unique ? look.torque : look.undecidedTorque;
      draw(point, axis, colour);
      marks.rings.push(...along(add(point, times(0.3, axis)), times(0.5, axis), colour));
    }
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
      if (this.shows.impulses && strength > 1e-6)
        marks.arrows.push(...along(point, times(0.35 * size * Math.max(Math.sqrt(strength), 0.08), unit(inWorld(impulse))),
          this.data.look.impulse));
      if (this.shows.contacts && event === this.event && event.stages) {
        const velocity = run.contactVelocity(event, contact, stage);
        const speed = length(velocity) / event.velocityScale;
        if (speed > 1e-4) marks.arrows.push(...along(point, times(0.28 * size * speed, unit(inWorld(velocity))), this.data.look.velocity, 0.8));
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
      if (size > 1e-3) arrows.push(...along(run.pose(body, this.time).place, times(size, unit(velocity)), this.data.look.velocity, 0.7));
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

const kindColour = (data, kind) => css(data.look.kinds[kind] || [0.53, 0.53, 0.53]);

/** About `count` round values from `low` to `high`. */
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const apart = (factor) => Math.abs(Math.log((factor * power) / rough));
  const step = power * [1, 2, 2.5, 5, 10].reduce((best, factor) => (apart(factor) < apart(best) ? factor : best));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) found.push(k * step);
  return found;
}

/** The value of a line at a time, of separate points the latest; null before the first. */
function valueAt(line, time) {
  const index = countUpTo(line.x, time) - 1;
  if (index < 0) return null;
  if (!line.joined || index + 1 >= line.x.length) return line.y[index];
  const share = (time - line.x[index]) / (line.x[index + 1] - line.x[index] || 1);
  return (1 - share) * line.y[index] + share * line.y[index + 1];
}

class Panels {
  constructor(player) {
    this.player = player;
    for (const name of ["event", "runs", "body", "impact", "help", "timeline", "time", "speed", "legend", "play", "plots", "invitation", "density"])
      this[name] = document.getElementById(name);
    for (const [keys, meaning] of player.data.help) {
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
    this.invitation.hidden = !player.invites;
    this.updateDensity();
    this.drawPlots();
    this.play.classList.toggle("playing", player.playing);
    this.speed.textContent = `${player.speed}×`;
    this.time.textContent = `t = ${player.time.toFixed(player.decimals)} s`;
    this.updateLegend();
    this.updateBody();
    this.updateImpact();
    this.drawTimeline();
  }

  /** As the window says it: which impact of how many, what else happens, and under which law. */
  eventText() {
    const { player } = this;
    const run = player.current;
    const total = run.impacts.length;
    const reached = player.event && player.event.kind === "impact" ? run.impacts.indexOf(player.event) + 1
      : countUpTo(run.impactTimes, player.time);
    const words = [reached ? `impact ${reached}/${total}` : plural(total, "impact")];
    const event = player.event || run.events[countUpTo(run.eventTimes, player.time) - 1];
    if (event && event.time === player.time) {
      if (event.kind !== "impact") words.push(event.kind.replace("_", "-"));
      else if (event.contacts) words.push(plural(event.contacts, "contact"));
    }
    if (run.law) words.push(run.law);
    return `${player.runs.length > 1 ? `${run.label}: ` : ""}${words.join(" · ")}`;
  }

  /** The key of the density. */
  updateDensity() {
    const { player } = this;
    this.density.hidden = !(player.shows.density && player.runs.length > 1);
    if (this.density.hidden || this.density.childElementCount) return;
    const scale = document.createElement("div");
    scale.style.background = `linear-gradient(to right, ${player.data.look.density.map(css).join(", ")})`;
    const ends = document.createElement("p");
    ends.append(cell("1", "span"), cell(String(player.runs.length), "span"));
    this.density.append(cell(`of ${player.runs.length} outcomes, how many are here`, "p"), scale, ends);
  }

  /** Charts of the current run, with a cursor at this instant. */
  drawPlots() {
    const { player, plots } = this;
    const { charts } = player.current;
    plots.hidden = player.plots === "none" || !charts.length;
    document.body.classList.toggle("plotted", !plots.hidden);
    plots.classList.toggle("large", player.plots === "large");
    if (plots.hidden) return;
    const above = document.getElementById("left");
    const free = Math.min(above.offsetTop + above.offsetHeight + 8, 0.45 * player.canvas.clientHeight);
    plots.style.top = `${player.plots === "large" ? 52 : free}px`;
    const canvas = plots.querySelector("canvas");
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    plots.querySelector("button").textContent = player.plots === "large" ? "E: none" : "E: larger";
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const columns = width > 1.4 * height && charts.length > 2 ? 2 : 1;
    const rows = Math.ceil(charts.length / columns);
    this.frames = charts.map((chart, k) => ({ chart, left: 58 + ((k % columns) * width) / columns,
      top: 38 + (Math.floor(k / columns) * (height - 26)) / rows, width: width / columns - 72, height: (height - 26) / rows - 48,
      isLowest: k + columns >= charts.length }));
    for (const frame of this.frames) if (frame.height > 12) this.drawChart(pen, frame);
  }

  drawChart(pen, { chart, left, top, width, height, isLowest }) {
    const { player } = this;
    const style = getComputedStyle(document.documentElement);
    const [ink, soft] = ["--ink", "--soft"].map((name) => style.getPropertyValue(name));
    const { start, end } = player.data;
    const across = (time) => left + ((time - start) / (end - start || 1)) * width;
    const up = (value) => top + height - ((value - chart.low) / (chart.high - chart.low)) * height;
    pen.font = "12px sans-serif";
    pen.fillStyle = ink;
    pen.textAlign = "left";
    pen.fillText(`${chart.title} [${chart.unit}]`, left, top - 22);
    pen.lineWidth = 1;
    for (const value of ticks(chart.low, chart.high, clamp(Math.floor(height / 16), 1, 3))) {
      pen.strokeStyle = style.getPropertyValue("--edge");
      pen.beginPath();
      pen.moveTo(left, up(value));
      pen.lineTo(left + width, up(value));
      pen.stroke();
      pen.fillStyle = soft;
      pen.textAlign = "right";
      pen.fillText(number(value), left - 6, up(value) + 4);
    }
    pen.textAlign = "center";
    if (isLowest) {
      for (const value of ticks(start, end, clamp(Math.floor(width / 36), 1, 4)))
        pen.fillText(number(value), across(value), top + height + 15);
      pen.fillText("t [s]", left + width / 2, top + height + 30);
    }
    const colours = [ink, ...player.data.look.lines.slice(1).map(css)];
    const words = this.wordsOf(pen, chart.lines, width + 10);
    chart.lines.forEach((line, k) => {
      pen.strokeStyle = pen.fillStyle = colours[k % colours.length];
      this.drawLine(pen, line, across, up);
      pen.textAlign = "left";
      pen.fillText(words[k].text, left + words[k].left, top - 7);
    });
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(across(player.time), top);
    pen.lineTo(across(player.time), top + height);
    pen.stroke();
  }

  /** Names of lines with their values now, and where each begins: names alone where there is no room for more. */
  wordsOf(pen, lines, width) {
    const laidOut = (texts) => {
      let left = 0;
      const words = texts.map((text) => {
        const word = { text, left };
        left += pen.measureText(text).width + 9;
        return word;
      });
      return { words, width: left - 9 };
    };
    const now = lines.map((line) => valueAt(line, this.player.time));
    const full = laidOut(lines.map((line, k) => (now[k] === null ? line.name : `${line.name} ${number(now[k])}`)));
    return full.width <= width ? full.words : laidOut(lines.map((line) => line.name)).words;
  }

  drawLine(pen, line, across, up) {
    if (line.joined) {
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (let k = 0; k < line.x.length; k++) pen[k ? "lineTo" : "moveTo"](across(line.x[k]), up(line.y[k]));
      pen.stroke();
      return;
    }
    for (let k = 0; k < line.x.length; k++) {
      const [x, y] = [across(line.x[k]), up(line.y[k])];
      pen.globalAlpha = 0.3;
      pen.fillRect(x - 0.5, Math.min(y, up(0)), 1, Math.abs(y - up(0)));
      pen.globalAlpha = 1;
      pen.beginPath();
      pen.arc(x, y, 2.2, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  /** The time at a place of the plots, or null beside them. */
  timeOfPlots(x, y) {
    const { start, end } = this.player.data;
    const frame = (this.frames || []).find((one) => x >= one.left && x <= one.left + one.width && y >= one.top && y <= one.top + one.height);
    return frame ? start + ((x - frame.left) / frame.width) * (end - start) : null;
  }

  updateLegend() {
    const run = this.player.current;
    if (this.legendOf === run) return;
    this.legendOf = run;
    this.legend.replaceChildren(...run.kinds.map((kind) => {
      const entry = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = kindColour(this.player.data, kind);
      mark.style.height = "10px";
      entry.append(mark, plural(run.events.filter((event) => event.kind === kind).length, kind.replace("_", "-")));
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
    lines.push(player.follows ? "followed (F)" : "F follows it");
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
      pen.fillStyle = kindColour(player.data, kind);
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
    "[": (e) => (e.shiftKey ? player.previousEvent() : player.previousImpact()),
    "]": (e) => (e.shiftKey ? player.nextEvent() : player.nextImpact()),
    "{": () => player.previousEvent(), "}": () => player.nextEvent(),
    ArrowUp: () => player.stageBack(), ArrowDown: () => player.stageOn(), Enter: () => player.replayImpact(),
    n: () => player.togglePlayImpacts(), ",": () => player.slower(), ".": () => player.faster(),
    Home: () => player.seek(player.data.start), End: () => player.seek(player.data.end),
    0: () => player.chooseRun(null), Tab: (e) => player.chooseNext(e.shiftKey ? -1 : 1), m: () => player.toggleDensity(),
    c: () => player.show("contacts"), i: () => player.show("impulses"), k: () => player.show("cones"),
    v: () => player.show("velocities"), l: () => player.toggleForces(), g: () => player.show("ghosts"), x: () => player.show("seeThrough"),
    e: () => player.nextPlots(), b: () => player.toggleTheme(),
    f: () => player.toggleFollow(), z: () => player.lookAtImpact(), a: () => player.switchFrame(),
    h: () => player.toggleHelp(), Escape: () => { panels.help.hidden = true; },
  };
  for (let k = 1; k <= 9; k++) actions[k] = () => k <= player.runs.length && player.chooseRun(k - 1);
  addEventListener("keydown", (happening) => {
    if (happening.ctrlKey || happening.metaKey || happening.altKey) return;
    const action = actions[happening.key.length === 1 ? happening.key.toLowerCase() : happening.key];
    if (!action || (happening.key === "Tab" && player.runs.length < 2)) return; // where it is of use to nothing else
    action(happening);
    happening.preventDefault();
  });
  new ResizeObserver(() => {
    player.resize();
    player.draw(); // at once: a canvas of another size is black, and would be shown so for a frame
  }).observe(canvas);
  listenToPointers(player, canvas, camera);
  listenToTimeline(player, panels);
  panels.plots.querySelector("canvas").addEventListener("pointerdown", (happening) => {
    const time = panels.timeOfPlots(happening.offsetX, happening.offsetY);
    if (time !== null) player.seek(time);
  });
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
