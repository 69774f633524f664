// A product of a sparse matrix and a vector by rocSPARSE, without and with analysis of the matrix, which select
// different kernels. Elements are integers, so that every sum is exact.
#include "../hip/check.h"

#include <rocsparse/rocsparse.h>

#define SPARSE(call) EXPECT((call) == rocsparse_status_success)

int main() {
    const int rows = 300, columns = 257;
    std::vector<int> starts{0}, places;
    std::vector<float> values, x(columns), y(rows), want(rows);
    for (int column = 0; column < columns; column++) x[column] = column % 11 - 5;
    for (int row = 0; row < rows; row++) {
        y[row] = row % 5;
        float sum = 0;
        // Empty rows, short ones, and a full one.
        for (int column = row % 7; column < columns; column += row == 100 ? 1 : 1 + row % 60) {
            if (row % 13 == 4) break;
            places.push_back(column);
            values.push_back((row + column) % 9 - 4);
            sum += values.back() * x[column];
        }
        starts.push_back((int)places.size());
        want[row] = 2 * sum + 3 * y[row];
    }
    int entries = (int)places.size();
    Array<int> device_starts(starts), device_places(places);
    Array<float> device_values(values), device_x(x);
    float alpha = 2, beta = 3;

    rocsparse_handle handle;
    rocsparse_mat_descr matrix;
    rocsparse_mat_info info;
    SPARSE(rocsparse_create_handle(&handle));
    SPARSE(rocsparse_create_mat_descr(&matrix));
    SPARSE(rocsparse_create_mat_info(&info));
    for (bool analyzed : {false, true}) {
        if (analyzed)
            SPARSE(rocsparse_scsrmv_analysis(handle, rocsparse_operation_none, rows, columns, entries, matrix,
                                             device_values.data, device_starts.data, device_places.data, info));
        Array<float> device_y(y);
        SPARSE(rocsparse_scsrmv(handle, rocsparse_operation_none, rows, columns, entries, &alpha, matrix,
                                device_values.data, device_starts.data, device_places.data, analyzed ? info : nullptr,
                                device_x.data, &beta, device_y.data));
        CHECK(hipDeviceSynchronize());
        EXPECT(device_y.read() == want);
    }
    SPARSE(rocsparse_destroy_mat_info(info));
    SPARSE(rocsparse_destroy_mat_descr(matrix));
    SPARSE(rocsparse_destroy_handle(handle));
    puts("right");
    return 0;
}
