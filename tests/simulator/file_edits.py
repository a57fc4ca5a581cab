"""Edits of HDF5 files, for tests of what reads them."""


def replaced(name, **how):
    """An edit that puts another data set under a name, with the attributes of the one before."""

    def edit(file):
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, **how).attrs.update(attributes)

    return edit


def linked(name, link):
    """An edit that puts a link in place of a data set or group."""

    def edit(file):
        del file[name]
        file[name] = link

    return edit
