/* What hwloc, a part of MPICH, asks of libudev, of which Debian has no static form: there is no device. */
void *udev_new(void)
{
	return 0;
}

void *udev_unref(void *udev)
{
	return udev;
}

void *udev_device_new_from_subsystem_sysname(void *udev, const char *subsystem, const char *name)
{
	(void)udev, (void)subsystem, (void)name;
	return 0;
}

void *udev_device_unref(void *device)
{
	return device;
}

const char *udev_device_get_property_value(void *device, const char *key)
{
	(void)device, (void)key;
	return 0;
}
