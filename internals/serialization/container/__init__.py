"""The archive: a zip whose members are stored as they are, each on a multiple of 64 bytes
(`caffe2/serialize/inline_container.cc`).

    zip_records.py     what the bytes of a zip mean: its structures, field by field
    zip_writer.py      writing one in a single pass, to a file that appears only when it is whole
    zip_directory.py   reading the directory, and believing nothing in it
    zip_reader.py      records as bytes, or as storages that lie in the file
    mapped_file.py     the file in memory, privately
    replaced_file.py   a file that appears when it is whole
    serialization_id.py   the name PyTorch gives an archive after its contents

How the real one differs: the zip format is miniz's business (`third_party/miniz`); PyTorch has the
alignment, the names and the id. It believes what an archive says of itself, and the readers above
it find out.
"""
