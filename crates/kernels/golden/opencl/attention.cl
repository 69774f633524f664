// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[3]; } array3_uint;
typedef struct { uint e[4]; } array4_uint;
typedef struct {
    uint batch;
    uint heads;
    uint shared_by;
    uint rows;
    uint keys;
    uint size;
    uint width;
    uint past;
    array3_uint q;
    array3_uint k;
    array3_uint v;
    array3_uint y;
    array4_uint mask;
    float scale;
    uint flags;
} Params;
typedef struct { float4 e[144]; } array144_float4_;
typedef struct { float2 e[528]; } array528_float2_;
typedef struct { float4 e[576]; } array576_float4_;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float4 load_q(uint start, uint row, uint column, private const Params *params, global const float *q) {
    float4 four = (float4)(0.0f);
    const uint _e6 = (*params).q.e[2];
    const uint at = (start + (row * _e6)) + column;
    const uint _e14 = (*params).size;
    if (column >= _e14) {
        const float4 _e16 = four;
        return _e16;
    }
    const uint _e19 = (*params).rows;
    if (row < _e19) {
        const float _e24 = q[at];
        four.x = _e24;
    }
    const uint _e29 = (*params).rows;
    if ((row + 1u) < _e29) {
        const uint _e36 = (*params).q.e[2];
        const float _e39 = q[at + _e36];
        four.y = _e39;
    }
    const uint _e44 = (*params).rows;
    if ((row + 2u) < _e44) {
        const uint _e52 = (*params).q.e[2];
        const float _e56 = q[at + (2u * _e52)];
        four.z = _e56;
    }
    const uint _e61 = (*params).rows;
    if ((row + 3u) < _e61) {
        const uint _e69 = (*params).q.e[2];
        const float _e73 = q[at + (3u * _e69)];
        four.w = _e73;
    }
    const float4 _e74 = four;
    return _e74;
}

ROCI_FN float2 load_k(uint start_1, uint key, uint column_1, private const Params *params, global const float *k) {
    float2 two = (float2)(0.0f);
    const uint _e6 = (*params).k.e[2];
    const uint at_1 = (start_1 + (key * _e6)) + column_1;
    const uint _e14 = (*params).size;
    if (column_1 >= _e14) {
        const float2 _e16 = two;
        return _e16;
    }
    const uint _e19 = (*params).keys;
    if (key < _e19) {
        const float _e24 = k[at_1];
        two.x = _e24;
    }
    const uint _e29 = (*params).keys;
    if ((key + 1u) < _e29) {
        const uint _e36 = (*params).k.e[2];
        const float _e39 = k[at_1 + _e36];
        two.y = _e39;
    }
    const float2 _e40 = two;
    return _e40;
}

ROCI_FN float2 load_v(uint start_2, uint key_1, uint column_2, private const Params *params, global const float *v) {
    float2 two_1 = (float2)(0.0f);
    const uint _e6 = (*params).v.e[2];
    const uint at_2 = (start_2 + (key_1 * _e6)) + column_2;
    const uint _e14 = (*params).keys;
    if (key_1 >= _e14) {
        const float2 _e16 = two_1;
        return _e16;
    }
    const uint _e19 = (*params).width;
    if (column_2 < _e19) {
        const float _e24 = v[at_2];
        two_1.x = _e24;
    }
    const uint _e29 = (*params).width;
    if ((column_2 + 1u) < _e29) {
        const float _e36 = v[at_2 + 1u];
        two_1.y = _e36;
    }
    const float2 _e37 = two_1;
    return _e37;
}

ROCI_FN float score(float product, uint start_3, uint row_1, uint key_2, private const Params *params, global const float *mask) {
    uint minus_infinity = 4286578688u;
    bool local_ = false;
    bool local_1 = false;
    bool local_2 = false;
    const uint _e8 = (*params).flags;
    if ((_e8 & 4u) != 0u) {
        const uint _e17 = (*params).past;
        local_ = key_2 > (row_1 + _e17);
    } else {
        local_ = false;
    }
    const bool hidden = local_;
    const uint _e24 = (*params).keys;
    if (!(key_2 >= _e24)) {
        local_1 = hidden;
    } else {
        local_1 = true;
    }
    const bool _e30 = local_1;
    if (!_e30) {
        const uint _e36 = (*params).rows;
        local_2 = row_1 >= _e36;
    } else {
        local_2 = true;
    }
    const bool _e39 = local_2;
    if (_e39) {
        const uint _e40 = minus_infinity;
        return as_float(_e40);
    }
    const uint _e44 = (*params).flags;
    if ((_e44 & 1u) != 0u) {
        const float _e51 = (*params).scale;
        const uint _e57 = (*params).mask.e[2];
        const uint _e63 = (*params).mask.e[3];
        const float _e67 = mask[(start_3 + (row_1 * _e57)) + (key_2 * _e63)];
        return (product * _e51) + _e67;
    }
    const float _e71 = (*params).scale;
    return product * _e71;
}

ROCI_FN float4 scores(float4 products, uint start_4, uint row_2, uint key_3, private const Params *params, global const float *mask) {
    const float _e5 = score(products.x, start_4, row_2, key_3, params, mask);
    const float _e9 = score(products.y, start_4, row_2 + 1u, key_3, params, mask);
    const float _e13 = score(products.z, start_4, row_2 + 2u, key_3, params, mask);
    const float _e17 = score(products.w, start_4, row_2 + 3u, key_3, params, mask);
    return (float4)(_e5, _e9, _e13, _e17);
}

ROCI_FN void add_values(private float4 *left, private float4 *right, uint first_1, uint rows, uint pair, local array528_float2_ *pairs, local array576_float4_ *weights) {
    uint i_4 = 0u;
    uint j_1 = 0u;
    while (true) {
        const uint _e7 = i_4;
        if (!(_e7 < 16u)) {
            break;
        }
        {
            j_1 = 0u;
            while (true) {
                const uint _e12 = j_1;
                if (!(_e12 < 4u)) {
                    break;
                }
                {
                    const uint _e16 = i_4;
                    const uint _e18 = j_1;
                    const float4 weight = (*weights).e[(((first_1 + _e16) + _e18) * 9u) + rows];
                    const uint _e26 = i_4;
                    const uint _e27 = j_1;
                    const float2 value = (*pairs).e[((_e26 + _e27) * 33u) + pair];
                    const float4 _e34 = *left;
                    (*left) = _e34 + (weight * value.x);
                    const float4 _e38 = *right;
                    (*right) = _e38 + (weight * value.y);
                }
                const uint _e42 = j_1;
                j_1 = _e42 + 1u;
            }
        }
        const uint _e45 = i_4;
        i_4 = _e45 + 4u;
    }
}

ROCI_FN void store(uint start_5, uint row_3, uint column_3, float4 four_1, private const Params *params, global float *y) {
    const uint _e6 = (*params).width;
    if (column_3 >= _e6) {
        return;
    }
    const uint _e11 = (*params).y.e[2];
    const uint at_3 = (start_5 + (row_3 * _e11)) + column_3;
    const uint _e17 = (*params).rows;
    if (row_3 < _e17) {
        y[at_3] = four_1.x;
    }
    const uint _e26 = (*params).rows;
    if ((row_3 + 1u) < _e26) {
        const uint _e32 = (*params).y.e[2];
        y[at_3 + _e32] = four_1.y;
    }
    const uint _e40 = (*params).rows;
    if ((row_3 + 2u) < _e40) {
        const uint _e47 = (*params).y.e[2];
        y[at_3 + (2u * _e47)] = four_1.z;
    }
    const uint _e56 = (*params).rows;
    if ((row_3 + 3u) < _e56) {
        const uint _e63 = (*params).y.e[2];
        y[at_3 + (3u * _e63)] = four_1.w;
        return;
    } else {
        return;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void attention(global const float *q, global const float *k, global const float *v, global const float *mask, global float *y, Params params) {
    local array144_float4_ q_tile;
    local array528_float2_ pairs;
    local array576_float4_ weights;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    float4 most = ((float4)((-3.4028235e38f)));
    float4 sum = (float4)(0.0f);
    float4 left0_ = (float4)(0.0f);
    float4 right0_ = (float4)(0.0f);
    float4 left1_ = (float4)(0.0f);
    float4 right1_ = (float4)(0.0f);
    float4 left2_ = (float4)(0.0f);
    float4 right2_ = (float4)(0.0f);
    float4 left3_ = (float4)(0.0f);
    float4 right3_ = (float4)(0.0f);
    uint end = 0u;
    uint first = 0u;
    float4 products0_ = (float4)(0.0f);
    float4 products1_ = (float4)(0.0f);
    uint d = 0u;
    uint i = 0u;
    uint j = 0u;
    float4 greatest = (float4)(0.0f);
    uint i_1 = 0u;
    float4 greatest_1 = (float4)(0.0f);
    uint i_2 = 0u;
    uint part = 0u;
    uint next = 0u;
    float4 total = (float4)(0.0f);
    uint i_3 = 0u;
    uint nothing = 0u;
    const uint rows_1 = lane / 32u;
    const uint pair_1 = lane % 32u;
    const uint _e9 = params.shared_by;
    const uint head = roci_div_u32(group.y, _e9);
    const uint _e15 = params.q.e[0];
    const uint _e21 = params.q.e[1];
    const uint start_q = (group.z * _e15) + (group.y * _e21);
    const uint _e28 = params.k.e[0];
    const uint _e33 = params.k.e[1];
    const uint start_k = (group.z * _e28) + (head * _e33);
    const uint _e40 = params.v.e[0];
    const uint _e45 = params.v.e[1];
    const uint start_v = (group.z * _e40) + (head * _e45);
    const uint _e52 = params.mask.e[0];
    const uint _e58 = params.mask.e[1];
    const uint start_mask = (group.z * _e52) + (group.y * _e58);
    const uint row_4 = (group.x * 32u) + (rows_1 * 4u);
    const uint column_4 = lane % 16u;
    const uint slow = lane / 16u;
    const uint _e94 = params.keys;
    end = _e94;
    const uint _e98 = params.flags;
    if ((_e98 & 4u) != 0u) {
        const uint _e103 = end;
        const uint _e111 = params.past;
        end = min(_e103, ((group.x + 1u) * 32u) + _e111);
    }
    while (true) {
        const uint _e116 = first;
        const uint _e117 = end;
        if (!(_e116 < _e117)) {
            break;
        }
        {
            products0_ = (float4)(0.0f);
            products1_ = (float4)(0.0f);
            d = 0u;
            while (true) {
                const uint _e125 = d;
                const uint _e128 = params.size;
                if (!(_e125 < _e128)) {
                    break;
                }
                {
                    if (slow < 8u) {
                        const uint _e143 = d;
                        const float4 _e145 = load_q(start_q, (group.x * 32u) + (slow * 4u), _e143 + column_4, &params, q);
                        q_tile.e[(column_4 * 9u) + slow] = _e145;
                    }
                    const uint _e151 = first;
                    const uint _e155 = d;
                    const float2 _e157 = load_k(start_k, _e151 + (slow * 2u), _e155 + column_4, &params, k);
                    pairs.e[(column_4 * 33u) + slow] = _e157;
                    const uint _e165 = first;
                    const uint _e171 = d;
                    const float2 _e173 = load_k(start_k, (_e165 + (slow * 2u)) + 32u, _e171 + column_4, &params, k);
                    pairs.e[((column_4 * 33u) + slow) + 16u] = _e173;
                    roci_barrier_workgroup();
                    i = 0u;
                    while (true) {
                        const uint _e176 = i;
                        if (!(_e176 < 16u)) {
                            break;
                        }
                        {
                            j = 0u;
                            while (true) {
                                const uint _e181 = j;
                                if (!(_e181 < 4u)) {
                                    break;
                                }
                                {
                                    const uint _e185 = i;
                                    const uint _e186 = j;
                                    const float4 four_2 = q_tile.e[((_e185 + _e186) * 9u) + rows_1];
                                    const uint _e194 = i;
                                    const uint _e195 = j;
                                    const float2 two_2 = pairs.e[((_e194 + _e195) * 33u) + pair_1];
                                    const float4 _e202 = products0_;
                                    products0_ = _e202 + (four_2 * two_2.x);
                                    const float4 _e206 = products1_;
                                    products1_ = _e206 + (four_2 * two_2.y);
                                }
                                const uint _e210 = j;
                                j = _e210 + 1u;
                            }
                        }
                        const uint _e213 = i;
                        i = _e213 + 4u;
                    }
                    roci_barrier_workgroup();
                }
                const uint _e216 = d;
                d = _e216 + 16u;
            }
            const uint key_4 = pair_1 * 2u;
            const float4 _e221 = products0_;
            const uint _e222 = first;
            const float4 scores0_ = scores(_e221, start_mask, row_4, _e222 + key_4, &params, mask);
            const float4 _e225 = products1_;
            const uint _e226 = first;
            const float4 scores1_ = scores(_e225, start_mask, row_4, (_e226 + key_4) + 1u, &params, mask);
            weights.e[(key_4 * 9u) + rows_1] = scores0_;
            weights.e[((key_4 + 1u) * 9u) + rows_1] = scores1_;
            roci_barrier_workgroup();
            if (lane < 64u) {
                greatest = (float4)((-3.4028235e38f));
                i_1 = 0u;
                while (true) {
                    const uint _e250 = i_1;
                    if (!(_e250 < 8u)) {
                        break;
                    }
                    {
                        const float4 _e253 = greatest;
                        const uint _e259 = i_1;
                        const float4 _e267 = weights.e[((((lane % 8u) * 8u) + _e259) * 9u) + (lane / 8u)];
                        greatest = fmax(_e253, _e267);
                    }
                    const uint _e269 = i_1;
                    i_1 = _e269 + 1u;
                }
                const float4 _e274 = greatest;
                q_tile.e[lane] = _e274;
            }
            roci_barrier_workgroup();
            const float4 _e275 = most;
            greatest_1 = _e275;
            i_2 = 0u;
            while (true) {
                const uint _e279 = i_2;
                if (!(_e279 < 8u)) {
                    break;
                }
                {
                    const float4 _e282 = greatest_1;
                    const uint _e286 = i_2;
                    const float4 _e289 = q_tile.e[(rows_1 * 8u) + _e286];
                    greatest_1 = fmax(_e282, _e289);
                }
                const uint _e291 = i_2;
                i_2 = _e291 + 1u;
            }
            const float4 _e294 = greatest_1;
            const float4 weights0_ = exp(scores0_ - _e294);
            const float4 _e297 = greatest_1;
            const float4 weights1_ = exp(scores1_ - _e297);
            weights.e[(key_4 * 9u) + rows_1] = weights0_;
            weights.e[((key_4 + 1u) * 9u) + rows_1] = weights1_;
            const float4 _e312 = most;
            const float4 _e313 = greatest_1;
            const float4 less = exp(_e312 - _e313);
            const float4 _e316 = greatest_1;
            most = _e316;
            const float4 _e317 = sum;
            sum = ((_e317 * less) + weights0_) + weights1_;
            const float4 _e321 = left0_;
            left0_ = _e321 * less;
            const float4 _e323 = right0_;
            right0_ = _e323 * less;
            const float4 _e325 = left1_;
            left1_ = _e325 * less;
            const float4 _e327 = right1_;
            right1_ = _e327 * less;
            const float4 _e329 = left2_;
            left2_ = _e329 * less;
            const float4 _e331 = right2_;
            right2_ = _e331 * less;
            const float4 _e333 = left3_;
            left3_ = _e333 * less;
            const float4 _e335 = right3_;
            right3_ = _e335 * less;
            const uint _e340 = params.keys;
            const uint _e341 = first;
            const uint there = min(64u, _e340 - _e341);
            part = 0u;
            while (true) {
                const uint _e346 = part;
                const uint _e349 = params.width;
                if (!(_e346 < _e349)) {
                    break;
                }
                {
                    next = 0u;
                    while (true) {
                        const uint _e353 = next;
                        if (!(_e353 < there)) {
                            break;
                        }
                        {
                            roci_barrier_workgroup();
                            const uint to = (slow * 33u) + (column_4 * 2u);
                            const uint _e362 = first;
                            const uint _e363 = next;
                            const uint _e366 = part;
                            const float2 _e370 = load_v(start_v, (_e362 + _e363) + slow, _e366 + (column_4 * 4u), &params, v);
                            pairs.e[to] = _e370;
                            const uint _e375 = first;
                            const uint _e376 = next;
                            const uint _e379 = part;
                            const float2 _e385 = load_v(start_v, (_e375 + _e376) + slow, (_e379 + (column_4 * 4u)) + 2u, &params, v);
                            pairs.e[to + 1u] = _e385;
                            roci_barrier_workgroup();
                            const uint _e386 = part;
                            switch (_e386 / 64u) {
                            case 0u: {
                                const uint _e389 = next;
                                add_values(&left0_, &right0_, _e389, rows_1, pair_1, &pairs, &weights);
                                break;
                            }
                            case 1u: {
                                const uint _e390 = next;
                                add_values(&left1_, &right1_, _e390, rows_1, pair_1, &pairs, &weights);
                                break;
                            }
                            case 2u: {
                                const uint _e391 = next;
                                add_values(&left2_, &right2_, _e391, rows_1, pair_1, &pairs, &weights);
                                break;
                            }
                            default: {
                                const uint _e392 = next;
                                add_values(&left3_, &right3_, _e392, rows_1, pair_1, &pairs, &weights);
                                break;
                            }
                            }
                        }
                        const uint _e393 = next;
                        next = _e393 + 16u;
                    }
                }
                const uint _e396 = part;
                part = _e396 + 64u;
            }
            roci_barrier_workgroup();
        }
        const uint _e399 = first;
        first = _e399 + 64u;
    }
    const float4 _e404 = sum;
    weights.e[lane] = _e404;
    roci_barrier_workgroup();
    while (true) {
        const uint _e409 = i_3;
        if (!(_e409 < 32u)) {
            break;
        }
        {
            const float4 _e412 = total;
            const uint _e416 = i_3;
            const float4 _e419 = weights.e[(rows_1 * 32u) + _e416];
            total = _e412 + _e419;
        }
        const uint _e421 = i_3;
        i_3 = _e421 + 1u;
    }
    const uint _e428 = params.flags;
    if ((_e428 & 2u) != 0u) {
        nothing = 2143289344u;
    }
    const float4 _e434 = total;
    const int4 seen = as_uint4(_e434) != (uint4)(0u);
    const uint _e438 = nothing;
    const float4 none = (float4)(as_float(_e438));
    const float4 _e441 = total;
    const float4 share = ((float4)(1.0f)) / _e441;
    const uint _e449 = params.y.e[0];
    const uint _e455 = params.y.e[1];
    const uint start_y = (group.z * _e449) + (group.y * _e455);
    const uint at_4 = pair_1 * 2u;
    const float4 _e460 = left0_;
    store(start_y, row_4, at_4, seen ? (_e460 * share) : none, &params, y);
    const float4 _e465 = right0_;
    store(start_y, row_4, at_4 + 1u, seen ? (_e465 * share) : none, &params, y);
    const float4 _e470 = left1_;
    store(start_y, row_4, at_4 + 64u, seen ? (_e470 * share) : none, &params, y);
    const float4 _e477 = right1_;
    store(start_y, row_4, (at_4 + 64u) + 1u, seen ? (_e477 * share) : none, &params, y);
    const float4 _e482 = left2_;
    store(start_y, row_4, at_4 + 128u, seen ? (_e482 * share) : none, &params, y);
    const float4 _e489 = right2_;
    store(start_y, row_4, (at_4 + 128u) + 1u, seen ? (_e489 * share) : none, &params, y);
    const float4 _e494 = left3_;
    store(start_y, row_4, at_4 + 192u, seen ? (_e494 * share) : none, &params, y);
    const float4 _e501 = right3_;
    store(start_y, row_4, (at_4 + 192u) + 1u, seen ? (_e501 * share) : none, &params, y);
}
