"""The order in which the overloads of an operator are tried, where it is not that of registration.

It matters when several fit: `torch.any(x)` is `any`, not `any.dims` with its defaults, and `max(x, y)` is `max.other`. The names
are those of PyTorch 2.13, in the order of `torch._C._jit_get_schemas_for_operator`; `-` is the overload without a name.

How the real one differs: there is no table. Operators register in the order of generated files.
"""

from __future__ import annotations

OVERLOAD_ORDER: dict[str, str] = {
    "aten::__contains__": "int_list str_list str int bool float complex Tensor float_list",
    "aten::__or__": "Tensor Scalar bool int",
    "aten::__xor__": "Tensor Scalar bool int",
    "aten::_upsample_bicubic2d_aa": "- vec out",
    "aten::_upsample_bilinear2d_aa": "- vec out",
    "aten::_upsample_lanczos2d_aa": "- out vec",
    "aten::_upsample_nearest_exact1d": "- out vec",
    "aten::_upsample_nearest_exact2d": "- out vec",
    "aten::_upsample_nearest_exact3d": "- out vec",
    "aten::add": (
        "Tensor Scalar out t str int complex float int_complex complex_int float_complex complex_float int_float "
        "float_int -"
    ),
    "aten::all": "- dim dims out dims_out all_out int float bool",
    "aten::any": "- dim dims out dims_out all_out str int float bool",
    "aten::arange": "- start start_step start_out out",
    "aten::bitwise_and": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out",
    "aten::bitwise_and_": "Tensor Scalar",
    "aten::bitwise_or": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out",
    "aten::bitwise_or_": "Tensor Scalar",
    "aten::bitwise_xor": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out",
    "aten::bitwise_xor_": "Tensor Scalar",
    "aten::clamp": "- Tensor out Tensor_out",
    "aten::clamp_max": "- Tensor out Tensor_out",
    "aten::clamp_min": "- Tensor out Tensor_out",
    "aten::clip": "- Tensor out Tensor_out",
    "aten::count": "- int float bool Tensor str",
    "aten::div": "Tensor Scalar Tensor_mode Scalar_mode out out_mode int complex float -",
    "aten::eq": (
        "Tensor Scalar Scalar_out Tensor_out int_list device bool int complex float int_float float_int "
        "float_complex complex_float - str float_list Tensor_list bool_list str_list"
    ),
    "aten::eye": "- m out m_out",
    "aten::fill_": "Scalar Tensor",
    "aten::floor_divide": "- Scalar out",
    "aten::fmod": "Tensor Scalar Tensor_out Scalar_out int float int_float float_int -",
    "aten::fmod_": "Tensor Scalar",
    "aten::ge": "Tensor Scalar Scalar_out Tensor_out int float int_float float_int - str",
    "aten::gt": "Tensor Scalar Scalar_out Tensor_out int float int_float float_int - str",
    "aten::index": "Tensor Tensor_out Tensor_hacked_twin str list_int list_float list_bool list_Tensor list_str",
    "aten::le": "Tensor Scalar Scalar_out Tensor_out int float int_float float_int - str",
    "aten::len": "t Tensor str Dict_str Dict_int Dict_bool Dict_float Dict_complex Dict_Tensor any",
    "aten::lerp": "Scalar Tensor Scalar_out Tensor_out",
    "aten::list": "- t",
    "aten::lt": "Tensor Scalar Scalar_out Tensor_out int float int_float float_int - str",
    "aten::max": "other - dim unary_out out",
    "aten::mean": "- dim out dtype_out",
    "aten::min": "other - dim unary_out out",
    "aten::movedim": "int intlist",
    "aten::mul": (
        "Tensor Scalar out left_t right_ int complex float int_complex complex_int float_complex complex_float "
        "int_float float_int -"
    ),
    "aten::ne": (
        "Tensor Scalar Scalar_out Tensor_out int_list device bool int complex float int_float float_int "
        "float_complex complex_float - str float_list Tensor_list bool_list str_list"
    ),
    "aten::norm": "Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out out ScalarOpt_dtype",
    "aten::normal": (
        "Tensor_float Tensor_float_out float_Tensor_out float_Tensor Tensor_Tensor Tensor_Tensor_out float_float"
    ),
    "aten::nuclear_norm": "- dim out dim_out",
    "aten::pow": (
        "Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out int complex float "
        "int_float float_int float_complex complex_float Scalar_Scalar int_to_int"
    ),
    "aten::pow_": "Scalar Tensor",
    "aten::rand": "- generator out",
    "aten::randint": "- generator low low_generator out low_out",
    "aten::randn": "- generator out",
    "aten::random_": "from to -",
    "aten::randperm": "- generator out",
    "aten::remainder": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out int float int_float float_int -",
    "aten::remainder_": "Tensor Scalar",
    "aten::round": "- decimals out decimals_out int float Scalar",
    "aten::scatter": "value src reduce value_reduce src_out value_out reduce_out value_reduce_out",
    "aten::set_": "source_Storage_storage_offset source_Tensor - source_Storage source_Tensor_storage_offset",
    "aten::sort": "- stable values_stable values int float Tensor bool str any",
    "aten::std": "- dim correction correction_out out",
    "aten::sub": (
        "Tensor Scalar out int complex float int_complex complex_int float_complex complex_float int_float float_int -"
    ),
    "aten::sum": "dim_IntList - IntList_out int float complex bool",
    "aten::to": "device dtype other dtype_layout prim_Device prim_dtype prim_other",
    "aten::true_divide": "Tensor Scalar out",
    "aten::upsample_bilinear2d": "- vec out",
    "aten::upsample_nearest2d": "- vec out",
    "aten::upsample_bicubic2d": "- vec out",
    "aten::upsample_linear1d": "- vec out",
    "aten::upsample_nearest1d": "- vec out",
    "aten::upsample_nearest3d": "- vec out",
    "aten::upsample_trilinear3d": "- vec out",
    "aten::var": "- dim correction correction_out out",
    "aten::where": "self ScalarOther ScalarSelf Scalar - self_out",
    "prim::max": "int float int_float float_int - int_list self_int float_list self_float bool_list self_bool",
    "prim::min": "int float int_float float_int - int_list self_int float_list self_float bool_list self_bool",
}
