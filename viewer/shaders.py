"""GLSL 3.30 sources. Positions are in stage coordinates, see `stage`."""

SHADING = """
uniform vec3 light;            // unit, towards the light
uniform vec3 up;
uniform vec3 eye;
uniform mat4 light_matrix;
uniform sampler2D shadow_map;
uniform float shadow_texel;    // in stage units

float lit_share(vec3 place, vec3 normal) {
    if (dot(normal, light) <= 0.0) return 0.0;
    vec3 moved = place + normal * 2.5 * shadow_texel;
    vec3 at = (light_matrix * vec4(moved, 1.0)).xyz * 0.5 + 0.5;
    if (any(lessThan(at.xy, vec2(0.002))) || any(greaterThan(at.xy, vec2(0.998)))) return 1.0;
    vec2 texel = 1.0 / vec2(textureSize(shadow_map, 0));
    float lit = 0.0;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            vec2 offset = (vec2(row, column) - 1.5) * 1.2 * texel;
            float blocker = texture(shadow_map, at.xy + offset).r;
            lit += (blocker > 0.9999 || at.z - 0.0006 < blocker) ? 1.0 : 0.0;
        }
    return lit / 16.0;
}

vec3 shaded(vec3 base, vec3 place, vec3 normal, float gloss) {
    float lit = lit_share(place, normal);
    float towards_light = max(dot(normal, light), 0.0);
    float towards_sky = 0.5 + 0.5 * dot(normal, up);
    vec3 ambient = mix(vec3(0.46, 0.46, 0.48), vec3(0.58, 0.60, 0.63), towards_sky);
    vec3 half_way = normalize(light + normalize(eye - place));
    float highlight = gloss * pow(max(dot(normal, half_way), 0.0), 40.0) * lit;
    float towards_eye = 0.10 * max(dot(normal, normalize(eye - place)), 0.0);
    return base * (ambient + towards_eye + 0.40 * towards_light * lit) + highlight;
}
"""

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
out vec4 pixel;
"""
    + SHADING
    + """
void main() {
    vec3 side = clamp(own_place / max(fwidth(own_place), vec3(1e-6)), -1.0, 1.0);
    float octant = 0.5 - 0.5 * side.x * side.y * side.z;
    vec3 base = mix(tint.rgb, vec3(0.97, 0.96, 0.94), tint.a * octant);
    pixel = vec4(shaded(base, place, normalize(facing), 0.28), opacity);
}
"""
)

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
    vec3 base = mix(vec3(0.745, 0.765, 0.795), vec3(0.865, 0.88, 0.91), 0.5 - 0.5 * wave.x * wave.y);
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
out vec4 pixel;
void main() {
    float height = dot(normalize(ray), up);
    vec3 horizon = vec3(0.905, 0.925, 0.955);
    vec3 above = mix(horizon, vec3(0.50, 0.65, 0.84), smoothstep(0.0, 0.45, height));
    vec3 below = mix(horizon, vec3(0.80, 0.82, 0.85), smoothstep(0.0, 0.6, -height));
    pixel = vec4(height > 0.0 ? above : below, 1.0);
}
"""
