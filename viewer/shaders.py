"""GLSL 3.30 sources, of which the player has some too. Positions are in stage coordinates, see `stage`."""

from .density import SCALE

EYE = """
uniform vec3 eye;
uniform vec3 forward;          // unit, along which an orthographic camera looks
uniform float orthographic;    // 1: all rays are parallel
"""

SHADING = (
    EYE
    + """
uniform vec3 light;            // unit, towards the light
uniform vec3 up;
uniform mat4 light_matrix;
uniform sampler2D shadow_map;
uniform float shadow_texel;    // in stage units
uniform float shadow_strength; // 0: without shadows, 1: as dark as those of what is opaque
uniform vec3 ambient_below;
uniform vec3 ambient_above;
uniform float sun;

float unblocked(vec2 at, float depth) {
    float blocker = texture(shadow_map, at).r;
    return (blocker > 0.9999 || depth - 0.0006 < blocker) ? 1.0 : 0.0;
}

float lit_share(vec3 place, vec3 normal) {
    if (dot(normal, light) <= 0.0) return 0.0;
    if (shadow_strength <= 0.0) return 1.0;
    vec3 moved = place + normal * 3.0 * shadow_texel;
    vec3 at = (light_matrix * vec4(moved, 1.0)).xyz * 0.5 + 0.5;
    if (any(lessThan(at.xy, vec2(0.004))) || any(greaterThan(at.xy, vec2(0.996)))) return 1.0;
    float spacing = 1.25 / float(textureSize(shadow_map, 0).x);
    vec2 grid = at.xy / spacing - 0.5;
    vec2 part = fract(grid);
    vec2 corner = (floor(grid) + 0.5) * spacing;
    vec4 across = vec4(1.0 - part.x, 1.0, 1.0, part.x) / 3.0;
    vec4 along = vec4(1.0 - part.y, 1.0, 1.0, part.y) / 3.0;
    float lit = 0.0;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            vec2 offset = (vec2(column, row) - 1.0) * spacing;
            lit += across[column] * along[row] * unblocked(corner + offset, at.z);
        }
    return mix(1.0, lit, shadow_strength);
}

vec3 shaded(vec3 base, vec3 place, vec3 normal, float gloss) {
    vec3 to_eye = orthographic > 0.5 ? -forward : normalize(eye - place);
    float lit = lit_share(place, normal);
    float towards_light = max(dot(normal, light), 0.0);
    vec3 ambient = mix(ambient_below, ambient_above, 0.5 + 0.5 * dot(normal, up));
    float highlight = gloss * pow(max(dot(normal, normalize(light + to_eye)), 0.0), 40.0) * lit;
    float towards_eye = 0.10 * max(dot(normal, to_eye), 0.0);
    return base * (ambient + towards_eye + sun * towards_light * lit) + highlight;
}
"""
)

BODY_VERTEX = """#version 330 core
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 row_x;
layout(location = 3) in vec4 row_y;
layout(location = 4) in vec4 row_z;
layout(location = 5) in vec4 colour;
uniform mat4 view_projection;
out vec3 place;
out vec3 facing;
out vec3 own_place;
flat out vec4 tint;
void main() {
    vec4 at = vec4(position, 1.0);
    place = vec3(dot(row_x, at), dot(row_y, at), dot(row_z, at));
    facing = vec3(dot(row_x.xyz, normal), dot(row_y.xyz, normal), dot(row_z.xyz, normal));
    own_place = position;
    tint = colour;
    gl_Position = view_projection * vec4(place, 1.0);
}
"""

BODY_FRAGMENT = (
    """#version 330 core
in vec3 place;
in vec3 facing;
in vec3 own_place;
flat in vec4 tint;
uniform float opacity;
uniform float gloss;
out vec4 pixel;
"""
    + SHADING
    + """
void main() {
    vec3 side = clamp(own_place / max(fwidth(own_place), vec3(1e-6)), -1.0, 1.0);
    float octant = 0.5 - 0.5 * side.x * side.y * side.z;
    vec3 base = mix(tint.rgb, vec3(0.97, 0.96, 0.94), tint.a * octant);
    vec3 normal = normalize(facing);
    if (!gl_FrontFacing) normal = -normal;
    pixel = vec4(shaded(base, place, normal, gloss), opacity);
}
"""
)

BALL_VERTEX = """#version 330 core
layout(location = 0) in vec4 row_x;
layout(location = 1) in vec4 row_y;
layout(location = 2) in vec4 row_z;
layout(location = 3) in vec4 colour;
uniform mat4 view_projection;
uniform vec3 eye;
uniform vec3 forward;
uniform float orthographic;
out vec3 place;                        // on a square that hides the ball
flat out vec3 middle;
flat out float radius;
flat out mat3 turn;                    // from the stage to the ball
flat out vec4 tint;
void main() {
    middle = vec3(row_x.w, row_y.w, row_z.w);
    radius = length(row_x.xyz);
    turn = mat3(row_x.xyz, row_y.xyz, row_z.xyz) / radius;
    tint = colour;
    vec3 away = middle - eye;
    vec3 ahead = orthographic > 0.5 ? forward : normalize(away);
    float distance_2 = max(dot(away, away), 1.02 * radius * radius);
    float grown = orthographic > 0.5 ? radius : radius * sqrt(distance_2 / (distance_2 - radius * radius));
    vec3 helper = abs(ahead.x) < 0.7 ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0);
    vec3 first = normalize(cross(ahead, helper));
    vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 2.0 - 1.0;
    place = middle + 1.03 * grown * (corner.x * first + corner.y * cross(first, ahead));
    gl_Position = view_projection * vec4(place, 1.0);
}
"""

BALL_HIT = """
in vec3 place;
flat in vec3 middle;
flat in float radius;
uniform mat4 view_projection;
// Where the ray through this pixel touches the ball, whose depth is taken; discards a pixel beside it.
vec3 touched_place(out float cover) {
    vec3 ray = orthographic > 0.5 ? forward : normalize(place - eye);
    vec3 to_middle = middle - place;
    float along = dot(to_middle, ray);
    vec3 aside = to_middle - along * ray;
    float inside = radius * radius - dot(aside, aside);
    cover = min(inside / max(fwidth(inside), 1e-12) + 0.5, 1.0);
    if (cover <= 0.0) discard;
    vec3 touched = place + (along - sqrt(max(inside, 0.0))) * ray;
    vec4 at = view_projection * vec4(touched, 1.0);
    gl_FragDepth = 0.5 + 0.5 * at.z / at.w;
    return touched;
}
"""

BALL_FRAGMENT = (
    """#version 330 core
flat in mat3 turn;
flat in vec4 tint;
uniform float opacity;
uniform float gloss;
out vec4 pixel;
"""
    + SHADING
    + BALL_HIT
    + """
void main() {
    float cover;
    vec3 touched = touched_place(cover);
    vec3 normal = normalize(touched - middle);
    vec3 own = turn * normal;                     // rows of `turn` are columns of the matrix to the stage
    vec3 side = clamp(own / max(fwidth(own), vec3(1e-6)), -1.0, 1.0);
    float octant = 0.5 - 0.5 * side.x * side.y * side.z;
    vec3 base = mix(tint.rgb, vec3(0.97, 0.96, 0.94), tint.a * octant);
    pixel = vec4(shaded(base, touched, normal, gloss), opacity * cover);
}
"""
)

COUNT_FRAGMENT = """#version 330 core
out vec4 pixel;
void main() { pixel = vec4(1.0); }
"""

BALL_COUNT_FRAGMENT = (
    """#version 330 core
out vec4 pixel;
"""
    + EYE
    + BALL_HIT
    + """
void main() {
    float cover;
    touched_place(cover);
    pixel = vec4(cover);
}
"""
)

DENSITY_VERTEX = """#version 330 core
void main() {
    vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 4.0 - 1.0;
    gl_Position = vec4(corner, 0.0, 1.0);
}
"""

DENSITY_FRAGMENT = f"""#version 330 core
uniform sampler2D counts;              // how many outcomes cover a pixel
uniform float most;
out vec4 pixel;
const vec3 scale[{len(SCALE)}] = vec3[]({", ".join(f"vec3{colour}" for colour in SCALE)});
void main() {{
    float count = texelFetch(counts, ivec2(gl_FragCoord.xy), 0).r;
    if (count < 0.01) discard;
    float level = clamp(log(max(count, 1.0)) / log(max(most, 2.0)), 0.0, 1.0) * {len(SCALE) - 1}.0;
    int low = min(int(level), {len(SCALE) - 2});
    vec3 colour = mix(scale[low], scale[low + 1], level - float(low));
    pixel = vec4(colour, 0.9 * min(count, 1.0));
}}
"""

BALL_SHADOW_FRAGMENT = """#version 330 core
in vec3 place;
flat in vec3 middle;
flat in float radius;
void main() {
    if (distance(place, middle) > radius) discard;
}
"""

SHADOW_FRAGMENT = """#version 330 core
void main() {}
"""

FLOOR_VERTEX = """#version 330 core
uniform mat4 view_projection;
uniform vec3 middle;
uniform vec3 first_axis;
uniform vec3 second_axis;
uniform float reach;
out vec3 place;
void main() {
    vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 2.0 - 1.0;
    place = middle + reach * (corner.x * first_axis + corner.y * second_axis);
    gl_Position = view_projection * vec4(place, 1.0);
}
"""

FLOOR_FRAGMENT = (
    """#version 330 core
in vec3 place;
uniform vec3 first_axis;
uniform vec3 second_axis;
uniform vec3 plane_normal;
uniform vec3 middle;
uniform vec2 tile_origin;
uniform float tiles_per_unit;
uniform float fade_distance;
uniform vec3 dark_tile;
uniform vec3 light_tile;
out vec4 pixel;
"""
    + SHADING
    + """
void main() {
    vec2 tile = vec2(dot(place, first_axis), dot(place, second_axis)) * tiles_per_unit + tile_origin;
    vec2 width = fwidth(tile) + 1e-4;
    vec2 lower = abs(fract((tile - 0.5 * width) * 0.5) - 0.5);
    vec2 upper = abs(fract((tile + 0.5 * width) * 0.5) - 0.5);
    vec2 wave = 2.0 * (lower - upper) / width;
    vec3 base = mix(dark_tile, light_tile, 0.5 - 0.5 * wave.x * wave.y);
    float away = length(place - middle) / fade_distance;
    pixel = vec4(shaded(base, place, plane_normal, 0.0), exp(-away * away));
}
"""
)

SKY_VERTEX = """#version 330 core
uniform vec3 ray_origin;
uniform vec3 ray_right;
uniform vec3 ray_above;
out vec3 ray;
void main() {
    vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 4.0 - 1.0;
    ray = ray_origin + corner.x * ray_right + corner.y * ray_above;
    gl_Position = vec4(corner, 0.9999, 1.0);
}
"""

SKY_FRAGMENT = """#version 330 core
in vec3 ray;
uniform vec3 up;
uniform vec3 sky;
uniform vec3 horizon;
uniform vec3 ground;
out vec4 pixel;
void main() {
    float height = dot(normalize(ray), up);
    vec3 above = mix(horizon, sky, smoothstep(0.0, 0.45, height));
    vec3 below = mix(horizon, ground, smoothstep(0.0, 0.6, -height));
    pixel = vec4(height > 0.0 ? above : below, 1.0);
}
"""

RIBBON_VERTEX = """#version 330 core
layout(location = 0) in vec3 place;
layout(location = 1) in vec3 tangent;
layout(location = 2) in float side;    // -1 or 1: which edge of the ribbon
layout(location = 3) in vec4 colour;
uniform mat4 view_projection;
uniform vec2 pixels;                   // of the picture
uniform float half_width;              // pixels
out vec4 tint;
out float edge;
void main() {
    vec4 here = view_projection * vec4(place, 1.0);
    vec4 there = view_projection * vec4(place + 0.001 * tangent, 1.0);
    vec2 along = (there.xy / there.w - here.xy / here.w) * pixels;
    float size = length(along);
    along = size > 1e-9 ? along / size : vec2(1.0, 0.0);
    vec2 across = vec2(-along.y, along.x) * side * (half_width + 1.0);
    gl_Position = here + vec4(2.0 * across / pixels * here.w, 0.0, 0.0);
    tint = colour;
    edge = side * (half_width + 1.0);
}
"""

RIBBON_FRAGMENT = """#version 330 core
in vec4 tint;
in float edge;
uniform float half_width;
out vec4 pixel;
void main() {
    pixel = vec4(tint.rgb, tint.a * clamp(half_width + 0.5 - abs(edge), 0.0, 1.0));
}
"""

OVERLAY_VERTEX = """#version 330 core
layout(location = 0) in vec4 box;      // centre and half of its size, pixels
layout(location = 1) in vec4 turn;     // cosine and sine of its angle, radius of its corners, kind
layout(location = 2) in vec4 glyph;    // lower left and upper right corner in the texture
layout(location = 3) in vec4 colour;
uniform vec2 pixels;
out vec2 offset;
out vec2 at;
flat out vec4 own_box;
flat out vec4 own_turn;
flat out vec4 tint;
void main() {
    vec2 corner = vec2(gl_VertexID % 2, gl_VertexID / 2) * 2.0 - 1.0;
    float margin = turn.w < 1.5 ? 1.0 : 0.0;
    offset = corner * (box.zw + margin);
    vec2 turned = vec2(turn.x * offset.x - turn.y * offset.y, turn.y * offset.x + turn.x * offset.y);
    at = mix(glyph.xy, glyph.zw, corner * 0.5 + 0.5);
    own_box = box;
    own_turn = turn;
    tint = colour;
    gl_Position = vec4((box.xy + turned) / pixels * 2.0 - 1.0, 0.0, 1.0);
}
"""

OVERLAY_FRAGMENT = """#version 330 core
in vec2 offset;
in vec2 at;
flat in vec4 own_box;
flat in vec4 own_turn;
flat in vec4 tint;
uniform sampler2D letters;
out vec4 pixel;
void main() {
    float cover;
    if (own_turn.w > 1.5) {                                    // a letter
        cover = texture(letters, at).a;
    } else if (own_turn.w > 0.5) {                             // a triangle that points along its own x
        vec2 sloped = normalize(vec2(own_box.w, 2.0 * own_box.z));
        float right = dot(vec2(offset.x - own_box.z, abs(offset.y)), sloped);
        cover = 0.5 - max(right, -offset.x - own_box.z);
    } else {                                                   // a box with round corners
        vec2 beyond = abs(offset) - own_box.zw + own_turn.z;
        cover = 0.5 - (length(max(beyond, 0.0)) + min(max(beyond.x, beyond.y), 0.0) - own_turn.z);
    }
    pixel = vec4(tint.rgb, tint.a * clamp(cover, 0.0, 1.0));
}
"""


def for_web() -> dict[str, str]:
    """The sources that the player draws with, in GLSL ES 3.00, which WebGL 2 takes."""
    head = "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp sampler2D;"
    sources = {
        "body_vertex": BODY_VERTEX, "body": BODY_FRAGMENT, "shadow": SHADOW_FRAGMENT, "count": COUNT_FRAGMENT,
        "floor_vertex": FLOOR_VERTEX, "floor": FLOOR_FRAGMENT, "sky_vertex": SKY_VERTEX, "sky": SKY_FRAGMENT,
        "density_vertex": DENSITY_VERTEX, "density": DENSITY_FRAGMENT,
    }  # fmt: skip
    return {name: source.replace("#version 330 core", head) for name, source in sources.items()}
