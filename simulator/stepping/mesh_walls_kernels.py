"""Where a ball may touch a surface of triangles, compiled.

A ball touches a surface where the distance from its centre is least of all places around. The nearest point of a
triangle is such a place unless another triangle holds that point too and comes nearer: so a ball does not catch at
the edges within a face, touches both flanks of a groove, and no neighbours need be known. A closed surface is
the skin of a solid: its far side, seen through it, is not touched, and a centre within it is pushed out where the
surface is nearest. On which side a point is, the normals at the nearest place say, each weighted by the angle of
its triangle there (Baerentzen & Aanaes, Signed distance computation using the angle weighted pseudonormal, 2005).
"""

import numpy as np

from ...compiled import kernel

PLACE = 6
"""Numbers kept of a place: way from it to the point (3,), its square, the triangle, whether it stays; at the end
the direction (3,) and the signed distance."""
WHOLE_ANGLE = 2.0 * np.pi


@kernel(forceinline=True)
def nearest_in_triangle(q, face, near):
    """Fill `near` with the way to q (3,) from the nearest point of a triangle, three corners in face (13,); its
    square. After the regions of Voronoi of corners, edges and face (Ericson, Real-Time Collision Detection, 5.1.5).
    """
    d1 = d2 = d3 = d4 = d5 = d6 = 0.0
    for i in range(3):
        ab, ac = face[3 + i] - face[i], face[6 + i] - face[i]
        d1 += ab * (q[i] - face[i])
        d2 += ac * (q[i] - face[i])
        d3 += ab * (q[i] - face[3 + i])
        d4 += ac * (q[i] - face[3 + i])
        d5 += ab * (q[i] - face[6 + i])
        d6 += ac * (q[i] - face[6 + i])
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    v = w = 0.0  # the point is a + v ab + w ac
    if d1 <= 0.0 and d2 <= 0.0:
        v = w = 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v = 1.0
    elif d6 >= 0.0 and d5 <= d6:
        w = 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6)
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        whole = va + vb + vc
        v, w = vb / whole, vc / whole
    square = 0.0
    for i in range(3):
        near[i] = q[i] - face[i] - v * (face[3 + i] - face[i]) - w * (face[6 + i] - face[i])
        square += near[i] * near[i]
    return square


@kernel(forceinline=True)
def height_over(face, q):
    """Signed distance of a point from the plane of a triangle."""
    return face[9] * q[0] + face[10] * q[1] + face[11] * q[2] - face[12]


@kernel()
def nearest_of(faces, members, first, last, q, way):
    """The triangle of members[first:last] that is nearest to q (3,), and the square of its distance; fills the way
    from it to q (3,)."""
    least, nearest = np.inf, members[first]
    for k in range(first, last):
        face = faces[members[k]]
        if height_over(face, q) ** 2 > least:
            continue
        square = nearest_in_triangle(q, face, way)
        if square < least:
            least, nearest = square, members[k]
    return nearest, nearest_in_triangle(q, faces[nearest], way)


@kernel()
def gather_places(faces, members, first, last, q, far, places):
    """Fill places (n, PLACE) with the nearest points of the triangles of members[first:last] within `far` of q; how
    many."""
    count = 0
    for k in range(first, last):
        face = faces[members[k]]
        if abs(height_over(face, q)) > far:
            continue
        place = places[count]
        square = nearest_in_triangle(q, face, place)
        if square <= far * far:
            place[3], place[4] = square, members[k]
            count += 1
    return count


@kernel()
def angle_at(face, q, way, seam):
    """The angle that a triangle has at its point q - way (3,): all around within it, half of that on an edge."""
    corner = -1
    for c in range(3):
        square = 0.0
        for i in range(3):
            square += (q[i] - way[i] - face[3 * c + i]) ** 2
        if square <= seam * seam:
            corner = c
    if corner >= 0:
        one = other = product = 0.0
        for i in range(3):
            along = face[3 * ((corner + 1) % 3) + i] - face[3 * corner + i]
            back = face[3 * ((corner + 2) % 3) + i] - face[3 * corner + i]
            one += along * along
            other += back * back
            product += along * back
        return np.arccos(max(-1.0, min(1.0, product / np.sqrt(one * other))))
    for c in range(3):
        length = product = square = 0.0
        for i in range(3):
            along = face[3 * ((c + 1) % 3) + i] - face[3 * c + i]
            length += along * along
            product += along * (q[i] - way[i] - face[3 * c + i])
        for i in range(3):
            along = face[3 * ((c + 1) % 3) + i] - face[3 * c + i]
            square += (q[i] - way[i] - face[3 * c + i] - product / length * along) ** 2
        if square <= seam * seam:
            return 0.5 * WHOLE_ANGLE
    return WHOLE_ANGLE


@kernel()
def faces_towards(faces, places, count, chosen, q, seam):
    """Whether q (3,) is on the outer side of the surface at one of `count` places."""
    own = places[chosen]
    total = 0.0
    for k in range(count):
        other = places[k]
        square = (own[0] - other[0]) ** 2 + (own[1] - other[1]) ** 2 + (own[2] - other[2]) ** 2
        if square <= seam * seam:
            face = faces[int(other[4])]
            rise = face[9] * own[0] + face[10] * own[1] + face[11] * own[2]
            total += angle_at(face, q, other, seam) * rise
    return total >= 0.0


@kernel()
def comes_nearer(faces, places, count, chosen, q, seam, point, way):
    """Whether another triangle of `count` places holds one of them and is nearer to q (3,); point, way (3,) are
    room."""
    own = places[chosen]
    for i in range(3):
        point[i] = q[i] - own[i]
    for k in range(count):
        other = places[k]
        if other[3] > own[3] or (other[3] == own[3] and k >= chosen):
            continue
        face = faces[int(other[4])]
        if abs(height_over(face, point)) <= seam and nearest_in_triangle(point, face, way) <= seam * seam:
            return True
    return False


@kernel(forceinline=True)
def settle(place, face, side):
    """Turn what is known of a place into direction and signed distance; side is 1, or -1 for a centre within."""
    away = np.sqrt(place[3])
    for i in range(3):
        place[i] = side * place[i] / away if away > 0.0 else face[9 + i]
    place[3] = side * away


@kernel()
def sift(wall, faces, places, count, q, point, way):
    """Leave of `count` places those that a ball around q may touch, as directions and distances; how many."""
    least = 0
    for k in range(count):
        if places[k, 3] < places[least, 3]:
            least = k
    if wall.closed and not faces_towards(faces, places, count, least, q, wall.seam):
        for i in range(5):
            places[0, i] = places[least, i]
        settle(places[0], faces[int(places[0, 4])], -1.0)
        return 1
    for k in range(count):
        stays = not comes_nearer(faces, places, count, k, q, wall.seam, point, way)
        if stays and wall.closed:
            stays = faces_towards(faces, places, count, k, q, wall.seam)
        places[k, 5] = 1.0 if stays else 0.0
    kept = 0
    for k in range(count):
        if places[k, 5] > 0.0:
            for i in range(5):
                places[kept, i] = places[k, i]
            settle(places[kept], faces[int(places[kept, 4])], 1.0)
            kept += 1
    return kept


@kernel()
def cell_of_point(wall, q):
    """Number of the cell that holds q (3,) in the grid of a mesh, -1 outside of it."""
    cell, stride = wall.first_cell, 1
    for i in range(3):
        layer = (q[i] - wall.grid_low[i]) * wall.inverse_edge
        if layer < 0.0 or layer > wall.cells[i]:
            return -1
        cell += stride * min(int(layer), wall.cells[i] - 1)
        stride *= wall.cells[i]
    return cell


@kernel()
def beside_mesh(wall, tables, q, far, point, way, places):
    """Fill places (n, PLACE) with where a ball around q (3,), in the axes of a mesh, may touch it within `far`, as
    directions and signed distances; how many. Where q is within a solid, that is its nearest place, however far.

    Cells without triangles are far from all of them; the others hold the nearest triangle of each of their points.
    """
    cell = cell_of_point(wall, q)
    if cell < 0:
        return 0
    faces, members = tables.faces, tables.cell_faces
    first, last = tables.cell_starts[cell], tables.cell_starts[cell + 1]
    if first == last:
        if not tables.cell_inside[cell]:
            return 0
        whole = wall.first_cell + wall.cells[0] * wall.cells[1] * wall.cells[2]
        first, last = tables.cell_starts[whole], tables.cell_starts[whole + 1]
        nearest, square = nearest_of(faces, members, first, last, q, places[0])
        places[0, 3] = square
        settle(places[0], faces[nearest], -1.0)
        return 1
    count = gather_places(faces, members, first, last, q, far, places)
    if count == 0:
        if not wall.closed:
            return 0
        _, square = nearest_of(faces, members, first, last, q, way)
        count = gather_places(faces, members, first, last, q, np.sqrt(square) + wall.seam, places)
    return sift(wall, faces, places, count, q, point, way)


@kernel()
def nearest_place(wall, tables, q, point, way, places):
    """Fill places[0] with the nearest of all places of a mesh, slowly: its direction and signed distance."""
    faces, members = tables.faces, tables.cell_faces
    whole = wall.first_cell + wall.cells[0] * wall.cells[1] * wall.cells[2]
    first, last = tables.cell_starts[whole], tables.cell_starts[whole + 1]
    _, square = nearest_of(faces, members, first, last, q, way)
    count = gather_places(faces, members, first, last, q, np.sqrt(square) + wall.seam, places)
    for k in range(1, sift(wall, faces, places, count, q, point, way)):
        if places[k, 3] < places[0, 3]:
            for i in range(4):
                places[0, i] = places[k, i]


@kernel()
def box_of_cells(face, low, edge, cells, far, begin, end):
    """Fill the first and last but one (3,) of the cells along each axis whose middles may be within `far` of a
    triangle."""
    for i in range(3):
        least = min(face[i], face[3 + i], face[6 + i]) - far
        most = max(face[i], face[3 + i], face[6 + i]) + far
        begin[i] = max(0, min(cells[i], int(np.floor((least - low[i]) / edge))))
        end[i] = max(0, min(cells[i], int(np.floor((most - low[i]) / edge)) + 1))


@kernel(allocates=True)
def measure_cells(faces, low, edge, cells, far, nearest):
    """Fill the distance (c,) of the middle of each cell from the nearest triangle, infinite beyond `far`."""
    nearest[:] = np.inf
    begin, end = np.empty(3, np.int64), np.empty(3, np.int64)
    middle, way = np.empty(3), np.empty(3)
    for f in range(faces.shape[0]):
        box_of_cells(faces[f], low, edge, cells, far, begin, end)
        for z in range(begin[2], end[2]):
            for y in range(begin[1], end[1]):
                for x in range(begin[0], end[0]):
                    middle[0], middle[1] = low[0] + (x + 0.5) * edge, low[1] + (y + 0.5) * edge
                    middle[2] = low[2] + (z + 0.5) * edge
                    away = np.sqrt(nearest_in_triangle(middle, faces[f], way))
                    cell = (z * cells[1] + y) * cells[0] + x
                    if away <= far and away < nearest[cell]:
                        nearest[cell] = away


@kernel(allocates=True)
def list_cells(faces, low, edge, cells, far, reach, fill, starts, members):
    """Without `fill`: the number of triangles within its reach (c,) of the middle of each cell, into starts
    (c + 1,) from 1 on. With it, and starts summed up: the triangles, each cell's start moved to its end."""
    begin, end = np.empty(3, np.int64), np.empty(3, np.int64)
    middle, way = np.empty(3), np.empty(3)
    for f in range(faces.shape[0]):
        box_of_cells(faces[f], low, edge, cells, far, begin, end)
        for z in range(begin[2], end[2]):
            for y in range(begin[1], end[1]):
                for x in range(begin[0], end[0]):
                    cell = (z * cells[1] + y) * cells[0] + x
                    if reach[cell] == 0.0:
                        continue
                    middle[0], middle[1] = low[0] + (x + 0.5) * edge, low[1] + (y + 0.5) * edge
                    middle[2] = low[2] + (z + 0.5) * edge
                    if nearest_in_triangle(middle, faces[f], way) > reach[cell] ** 2:
                        continue
                    if fill:
                        members[starts[cell]] = f
                        starts[cell] += 1
                    else:
                        starts[cell + 1] += 1
